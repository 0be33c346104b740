/** The engine of a ledger that has its state file to itself: it decides in memory. */

import { machineMs, systemClock } from '../../core/clock.ts';
import { UserError } from '../../core/errors.ts';
import { LedgerStore } from '../../state/sqlite/ledger-store.ts';
import type { StorageFault } from '../../state/storage-fault.ts';
import type { Engine } from '../engine.ts';
import type { EngineHandover } from '../handover.ts';
import type { LedgerOptions, LedgerSummary } from '../ledger.ts';
import { type Answer, type Command, isWritten } from '../protocol.ts';
import { LedgerEngine } from './engine.ts';

/** The number of batches between two checks of the size of the store's log. */
const BATCHES_PER_LOG_CHECK = 100;

export class LocalEngine implements Engine {
  readonly maxBatch = Number.POSITIVE_INFINITY;
  readonly #store: LedgerStore;
  readonly #engine: LedgerEngine;
  #batches = 0;

  constructor(store: LedgerStore, engine: LedgerEngine) {
    this.#store = store;
    this.#engine = engine;
  }

  async recover(): Promise<LedgerSummary> {
    return this.#engine.recover();
  }

  async adopt(handover: EngineHandover): Promise<LedgerSummary> {
    return this.#engine.adopt(handover, machineMs());
  }

  handOver(): EngineHandover {
    return this.#engine.handOver(machineMs());
  }

  async process(commands: readonly Command[], lockWaitMs?: number): Promise<readonly Answer[]> {
    if (commands.some(isWritten)) this.#store.assertUsable();
    return this.#engine.process(commands, lockWaitMs);
  }

  get needsFlush(): boolean {
    return this.#store.needsFlush;
  }

  /**
   * An admission does not wait: its hold is safe from the end of the process, and nothing of its
   * answer reaches the client before the flush.
   */
  waitsForFlush({ kind }: Command): boolean {
    return kind === 'settle' || kind === 'grow';
  }

  /** The answer to a stream begins long before its end. */
  isFlushedAtOnce(command: Command): boolean {
    return command.kind === 'admit' && command.request.stream === true;
  }

  flush(): Promise<void> {
    return this.#store.flush();
  }

  isLostWithFlush(): boolean {
    return false;
  }

  get hasRefusals(): boolean {
    return this.#engine.hasRefusals;
  }

  async writeRefusals(lockWaitMs?: number): Promise<void> {
    this.#store.assertUsable();
    this.#engine.writeRefusals(lockWaitMs);
  }

  get journalRetentionMs(): number | undefined {
    return this.#engine.journalRetentionMs;
  }

  async dropOldRows(lockWaitMs?: number): Promise<boolean> {
    this.#store.assertUsable();
    return this.#engine.dropOldRows(lockWaitMs);
  }

  async maintain(): Promise<void> {
    if (++this.#batches % BATCHES_PER_LOG_CHECK !== 0) return;
    this.#store.assertUsable();
    this.#store.boundLog();
  }

  get fault(): undefined {
    return undefined;
  }

  async probe(lockWaitMs?: number): Promise<void> {
    this.#store.assertUsable();
    this.#store.probe(lockWaitMs);
  }

  faultOf(error: unknown): StorageFault | undefined {
    return this.#store.faultOf(error);
  }

  async close(): Promise<void> {
    try {
      this.#store.assertUsable();
      this.#store.flushNow();
    } finally {
      this.#store.close();
    }
  }
}

/** Loads what `openLocalEngine` needs. Throws a UserError if that would change the tables, which may take minutes. */
export function loadLocalEngine(path: string): void {
  LedgerStore.load(path);
}

/** Opens the state file, creating it if there is none. Throws a UserError. */
export async function openLocalEngine(path: string, options: LedgerOptions): Promise<LocalEngine> {
  const store = LedgerStore.open(path, options.durability);
  try {
    return new LocalEngine(store, new LedgerEngine(store, options, systemClock));
  } catch (error) {
    const fault = store.faultOf(error);
    throw fault === undefined ? error : new UserError(fault.message);
  }
}
