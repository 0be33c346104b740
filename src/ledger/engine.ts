/** What decides the ledger's commands and stores the decisions: one engine for each kind of state. */
import type { StorageFault } from '../state/storage-fault.ts';
import type { EngineHandover } from './handover.ts';
import type { LedgerSummary } from './ledger.ts';
import type { Answer, Command } from './protocol.ts';

/** Some engines need not wait for what others must. */
export type Eventual<T> = T | Promise<T>;

/**
 * The ledger thread calls one method at a time, but for `flush`, which may run beside the others.
 * Any method may throw a storage error, or reject with one, which {@link Engine.faultOf} recognizes.
 *
 * `lockWaitMs` bounds the wait for another writer of the state, in milliseconds.
 */
export interface Engine {
  /** Settles what an earlier process left open. To be called once, before everything else. */
  recover(): Eventual<LedgerSummary>;
  /** In place of `recover`: goes on with what the ledger of an earlier process has handed over. */
  adopt(handover: EngineHandover): Eventual<LedgerSummary>;
  /** What is only in memory. Throws a UserError if its state cannot be handed over. */
  handOver(): EngineHandover;
  /** The number of commands in a batch at most. */
  readonly maxBatch: number;
  /**
   * Decides all commands in one transaction, those of one request in their order. Where it fails
   * nothing has changed, or the same command can be sent again: a repeated settlement counts once.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Eventual<readonly Answer[]>;
  /** Whether commits need a flush to be durable. Where not, nothing waits for one. */
  readonly needsFlush: boolean;
  /** Whether an answer waits until its commit is flushed. */
  waitsForFlush(command: Command, answer: Answer): boolean;
  /** Whether a commit is flushed even if nobody waits for that yet. */
  isFlushedAtOnce(command: Command): boolean;
  /** To be called while a flush runs: the next one, which will be called for, may begin as soon as that ends. */
  prepareFlush?(): void;
  /** Makes all that was committed so far safe from a power cut. Only one flush at a time. */
  flush(): Promise<void>;
  /**
   * After a failed flush: whether these commands, which were decided but not answered, are to be
   * decided again. Otherwise the next flush makes them durable.
   */
  isLostWithFlush(commands: readonly Command[]): boolean;
  /** True while refusals are counted that are not stored. */
  readonly hasRefusals: boolean;
  /** Stores the counted refusals. Where it fails, they are kept. */
  writeRefusals(lockWaitMs?: number): Eventual<void>;
  /** How long journal rows are kept; undefined for ever. */
  readonly journalRetentionMs: number | undefined;
  /** Drops some journal rows past their retention, and what end users used too long ago. Returns true if there may be more. */
  dropOldRows(lockWaitMs?: number): Eventual<boolean>;
  /** What has to be done now and then between batches. */
  maintain(): Eventual<void>;
  /** Why nothing is admitted, although what ends requests can be written. */
  readonly fault: StorageFault | undefined;
  /** Fails with a storage error if nothing can be written. */
  probe(lockWaitMs?: number): Eventual<void>;
  /** The storage fault behind an error; undefined for an internal one. */
  faultOf(error: unknown): StorageFault | undefined;
  /** Closes the state, after a last flush. */
  close(): Promise<void>;
}

/** What an engine reports outside of its answers. */
export interface EngineEvents {
  /** The state cannot be reached, which a heartbeat has noticed. */
  onFault(fault: StorageFault): void;
  /** Operators stop these requests. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways were silent for too long: this many requests of theirs are charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** This gateway has come to another state than the others after that entry of the log, and begins anew. */
  onDifference(entry: bigint): void;
  /** That entry of the log is nothing that a gateway asks. The gateway of that number is shut out. */
  onNonsense(entry: bigint, nodeId: number): void;
  /**
   * The database has lost the log up to that entry, which this gateway had followed. It begins anew, and so many requests
   * that it had ended are charged as held.
   */
  onLostLog(entry: bigint, requests: number): void;
  /** A request has ended whose key is not in the database any more: nobody is charged. */
  onUncharged(requestId: string): void;
}
