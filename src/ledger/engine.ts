/**
 * The interface of an engine, which decides the ledger's commands and stores the decisions. Each kind of state has its
 * own engine.
 */
import type { StorageFault } from '../state/storage-fault.ts';
import type { EngineHandover } from './handover.ts';
import type { LedgerSummary } from './ledger.ts';
import type { Answer, Command } from './protocol.ts';

/** A result that some engines return synchronously. */
export type Eventual<T> = T | Promise<T>;

/**
 * The ledger thread calls one method at a time, except `flush`, which may run concurrently with the others. Any method
 * may throw a storage error, or reject with one, which {@link Engine.faultOf} recognizes.
 *
 * `lockWaitMs` bounds the wait for another writer of the state, in milliseconds.
 */
export interface Engine {
  /** Settles the requests that an earlier process left open. Must be called once, before every other method. */
  recover(): Eventual<LedgerSummary>;
  /** Restores a handover. Replaces `recover`. */
  adopt(handover: EngineHandover): Eventual<LedgerSummary>;
  /** Returns the state that exists only in memory. Throws a UserError if the state cannot be handed over. */
  handOver(): EngineHandover;
  /** Maximum number of commands per batch. */
  readonly maxBatch: number;
  /**
   * Decides all commands in one transaction, and those for one request in order. After a failure, either no change was
   * made, or the commands can be sent again: a repeated settlement counts once.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Eventual<readonly Answer[]>;
  /** Whether commits need a flush to be durable. If not, answers never wait for one. */
  readonly needsFlush: boolean;
  /** Whether an answer waits until its commit is flushed. */
  waitsForFlush(command: Command, answer: Answer): boolean;
  /** Whether a commit is flushed even before a client waits for it. */
  isFlushedAtOnce(command: Command): boolean;
  /** Announces, during a flush, that another one will follow. It may start as soon as the running one ends. */
  prepareFlush?(): void;
  /** Makes all earlier commits safe from a power failure. Only one flush runs at a time. */
  flush(): Promise<void>;
  /**
   * After a failed flush: whether commands already decided but not answered must be decided again. If not, the next
   * flush makes them durable.
   */
  isLostWithFlush(commands: readonly Command[]): boolean;
  /** Whether counted refusals are waiting to be stored. */
  readonly hasRefusals: boolean;
  /** Stores the counted refusals. On failure, the counts are kept. */
  writeRefusals(lockWaitMs?: number): Eventual<void>;
  /** Retention of journal rows; undefined to keep them for ever. */
  readonly journalRetentionMs: number | undefined;
  /**
   * Drops some journal rows past their retention, and the usage of long-idle end users. Returns true if more may be
   * left.
   */
  dropOldRows(lockWaitMs?: number): Eventual<boolean>;
  /** Periodic maintenance between batches. */
  maintain(): Eventual<void>;
  /** The reason why admission is closed although settlements can be written. */
  readonly fault: StorageFault | undefined;
  /** Throws a storage error if the state cannot be written. */
  probe(lockWaitMs?: number): Eventual<void>;
  /** The storage fault behind an error; undefined for an internal one. */
  faultOf(error: unknown): StorageFault | undefined;
  /** Closes the state after a final flush. */
  close(): Promise<void>;
}

/** Events that an engine reports outside of its answers. */
export interface EngineEvents {
  /** A heartbeat could not reach the state. */
  onFault(fault: StorageFault): void;
  /** An operator has stopped these requests. */
  onStops(requestIds: readonly string[]): void;
  /** The heartbeats of other gateways have stopped, and this many of their requests were charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** After this log entry, the state of this gateway has diverged from the log. The gateway rebuilds it. */
  onDifference(entry: bigint): void;
  /** This log entry is malformed. The gateway that wrote it is excluded. */
  onNonsense(entry: bigint, nodeId: number): void;
  /**
   * The database has lost the end of its log, which this gateway had applied up to `entry`. The gateway rebuilds its
   * state, and this many requests that it had ended are charged as held.
   */
  onLostLog(entry: bigint, requests: number): void;
  /** The key of a settled request was deleted from the database, so the request is not charged. */
  onUncharged(requestId: string): void;
}
