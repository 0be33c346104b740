/**
 * The engine for a state file that only this process decides on: it decides in memory, and writes each batch in one
 * transaction.
 */

import { CLOCK_STEP_MS, type Clock, machineMs, systemClock } from '../../core/clock.ts';
import { UserError } from '../../core/errors.ts';
import { invariant } from '../../core/invariant.ts';
import { LedgerStore } from '../../state/sqlite/ledger-store.ts';
import type { StorageFault } from '../../state/storage-fault.ts';
import { checkCommand } from '../checks.ts';
import type { Engine } from '../engine.ts';
import type { EngineHandover } from '../handover.ts';
import type { LedgerOptions, LedgerSettings, LedgerSummary } from '../ledger.ts';
import { type Answer, type Command, isWritten } from '../protocol.ts';
import { RefusalCounts } from '../refusal-counts.ts';
import { BatchClock } from './batch-clock.ts';
import { Decisions } from './decisions.ts';
import { settleOpenHolds } from './recovery.ts';
import { WINDOW_MS } from './window.ts';

/** Number of batches between two checks of the WAL's size. */
const BATCHES_PER_LOG_CHECK = 20;

export class LocalEngine implements Engine {
  readonly maxBatch = Number.POSITIVE_INFINITY;
  readonly fault = undefined;
  readonly #store: LedgerStore;
  readonly #clock: BatchClock;
  readonly #refusals = new RefusalCounts();
  readonly #decisions: Decisions;
  /** The latest wall-clock time seen. */
  #latestMs = Number.NEGATIVE_INFINITY;
  #batches = 0;

  constructor(store: LedgerStore, settings: LedgerSettings, clock: Clock) {
    this.#store = store;
    this.#clock = new BatchClock(clock);
    this.#decisions = new Decisions(store, settings, this.#clock, { canRollBack: true });
  }

  /** Settles the requests that a crash left open, and rebuilds the windows of the last minute. */
  recover(): LedgerSummary {
    const recoveredHolds = settleOpenHolds(this.#store, this.#clock.wallMs());
    this.#store.countFutureNow(this.#clock.wallMs());
    this.#decisions.rebuild(this.#store.journal.recent(this.#clock.wallMs() - WINDOW_MS));
    return this.#summary(recoveredHolds);
  }

  handOver(nowMs = machineMs()): EngineHandover {
    return this.#decisions.handOver(nowMs);
  }

  /** Throws an InvariantError if the handed-over requests differ from the open requests in the file. */
  adopt(handover: EngineHandover, nowMs = machineMs()): LedgerSummary {
    const stored = new Set(this.#store.journal.openHolds().map(({ requestId }) => requestId));
    invariant(
      stored.size === handover.open.length && handover.open.every(({ hold }) => stored.has(hold.requestId)),
      () => `${stored.size} requests are open in the file and ${handover.open.length} in what was handed over`,
    );
    this.#store.countFutureNow(this.#clock.wallMs());
    this.#decisions.adopt(handover, nowMs);
    return this.#summary(0);
  }

  /**
   * Decides and writes a batch. On an error, neither the file nor the memory has changed. Throws an InvariantError for
   * an invalid command, or if the totals disagree after the batch.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Answer[] {
    return this.#clock.during(() => this.#process(commands, lockWaitMs));
  }

  #process(commands: readonly Command[], lockWaitMs: number | undefined): Answer[] {
    const writes = commands.some(isWritten);
    if (writes) this.#store.assertUsable();
    // Outside the transaction: a refusal is counted even if the batch fails.
    for (const command of commands) {
      if (command.kind === 'count_refusal') this.#refusals.count(command.refusal, this.#clock.wallMs());
    }
    try {
      for (const command of commands) checkCommand(command);
      this.#followClock(lockWaitMs);
      const answers = writes
        ? this.#store.transaction(() => this.#decideAndWrite(commands), lockWaitMs)
        : this.#decisions.decideAll(commands);
      this.#decisions.keep();
      return answers;
    } catch (error) {
      this.#decisions.rollBack();
      throw error;
    }
  }

  get needsFlush(): boolean {
    return this.#store.needsFlush;
  }

  /**
   * Admissions do not wait: a commit protects their holds from the end of the process, and the client gets no byte of
   * the answer before the flush.
   */
  waitsForFlush({ kind }: Command): boolean {
    return kind === 'settle' || kind === 'grow';
  }

  /** A stream sends its first bytes long before its settlement would cause a flush, so its admission is flushed at once. */
  isFlushedAtOnce(command: Command): boolean {
    return command.kind === 'admit' && command.request.stream === true;
  }

  flush(): Promise<void> {
    return this.#store.flush();
  }

  prepareFlush(): void {
    this.#store.prepareFlush();
  }

  isLostWithFlush(): boolean {
    return false;
  }

  get hasRefusals(): boolean {
    return !this.#refusals.isEmpty;
  }

  writeRefusals(lockWaitMs?: number): void {
    this.#store.assertUsable();
    this.#store.writeRefusals(this.#refusals.all(), lockWaitMs);
    this.#refusals.clear();
  }

  get journalRetentionMs(): number | undefined {
    return this.#decisions.settings.journalRetentionMs;
  }

  dropOldRows(lockWaitMs?: number): boolean {
    this.#store.assertUsable();
    const nowMs = this.#clock.wallMs();
    const keptMs = this.journalRetentionMs;
    const isMore = keptMs !== undefined && this.#store.dropOldRows(nowMs - keptMs, lockWaitMs);
    return this.#store.dropIdleUsers(nowMs, lockWaitMs) || isMore;
  }

  maintain(): Promise<void> | undefined {
    if (++this.#batches % BATCHES_PER_LOG_CHECK !== 0) return undefined;
    this.#store.assertUsable();
    return this.#store.boundLog();
  }

  probe(lockWaitMs?: number): void {
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
      await this.#store.close();
    }
  }

  /** After the wall clock was set back, moves future charges to the current time, as at a start. */
  #followClock(lockWaitMs: number | undefined): void {
    const wallMs = this.#clock.wallMs();
    const hasComeBack = wallMs < this.#latestMs - CLOCK_STEP_MS;
    if (hasComeBack && this.#store.countFutureNow(wallMs, lockWaitMs)) this.#decisions.forgetKeys();
    this.#latestMs = hasComeBack ? wallMs : Math.max(this.#latestMs, wallMs);
  }

  #summary(recoveredHolds: number): LedgerSummary {
    const { balanceNanos } = this.#decisions;
    return { created: this.#store.created, balanceNanos, keys: this.#store.keys.count(), recoveredHolds };
  }

  #decideAndWrite(commands: readonly Command[]): Answer[] {
    const answers = this.#decisions.decideAll(commands);
    this.#store.journal.writeHolds(this.#decisions.openCount, () => this.#decisions.openHolds());
    this.#store.journal.writeCharges();
    this.#decisions.checkTotals(commands.length);
    return answers;
  }
}

/**
 * Loads the SQLite library before `openLocalEngine` needs it. Throws a UserError if opening would migrate the tables,
 * which may take minutes.
 */
export function loadLocalEngine(path: string): void {
  LedgerStore.load(path);
}

/** Opens the state file, creating it if there is none. Throws a UserError. */
export function openLocalEngine(path: string, options: LedgerOptions): LocalEngine {
  const store = LedgerStore.open(path, options.durability);
  try {
    return new LocalEngine(store, options, systemClock);
  } catch (error) {
    const fault = store.faultOf(error);
    throw fault === undefined ? error : new UserError(fault.message);
  }
}
