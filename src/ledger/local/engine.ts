/** The ledger's engine: decides batches of commands and writes each batch in one transaction. */

import { CLOCK_STEP_MS, type Clock } from '../../core/clock.ts';
import { invariant } from '../../core/invariant.ts';
import type { LedgerStore } from '../../state/sqlite/ledger-store.ts';
import { checkCommand } from '../checks.ts';
import type { EngineHandover } from '../handover.ts';
import type { LedgerSettings, LedgerSummary } from '../ledger.ts';
import { type Answer, type Command, isWritten } from '../protocol.ts';
import { RefusalCounts } from '../refusal-counts.ts';
import { Decisions } from './decisions.ts';
import { settleOpenHolds } from './recovery.ts';

export class LedgerEngine {
  readonly #store: LedgerStore;
  readonly #clock: Clock;
  readonly #refusals = new RefusalCounts();
  readonly #decisions: Decisions;
  /** The latest time by the wall clock. */
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor(store: LedgerStore, settings: LedgerSettings, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#decisions = new Decisions(store, settings, clock);
  }

  /**
   * Settles the requests that a crash left open, and rebuilds the windows of the last minute. To be
   * called once.
   */
  recover(): LedgerSummary {
    const recoveredHolds = settleOpenHolds(this.#store, this.#clock.wallMs());
    this.#store.countFutureNow(this.#clock.wallMs());
    this.#decisions.rebuild();
    return this.#summary(recoveredHolds);
  }

  /** What is only in memory; `machineMs` is now. */
  handOver(machineMs: number): EngineHandover {
    return this.#decisions.handOver(machineMs);
  }

  /**
   * In place of `recover`: goes on with what an earlier process was doing; `machineMs` is now. Throws
   * an InvariantError if its requests are not those that are open in the file.
   */
  adopt(handover: EngineHandover, machineMs: number): LedgerSummary {
    const stored = new Set(this.#store.openHolds().map(({ requestId }) => requestId));
    invariant(
      stored.size === handover.open.length && handover.open.every(({ hold }) => stored.has(hold.requestId)),
      () => `${stored.size} requests are open in the file and ${handover.open.length} in what was handed over`,
    );
    this.#store.countFutureNow(this.#clock.wallMs());
    this.#decisions.adopt(handover, machineMs);
    return this.#summary(0);
  }

  /**
   * Decides all commands in order and writes the decisions in one transaction. If it throws,
   * nothing has changed, in the file or in memory. `lockWaitMs` bounds the wait for another writer,
   * in milliseconds.
   *
   * Throws an InvariantError for an invalid command, or if the totals do not agree after the batch.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Answer[] {
    // First, and outside the transaction: a refusal counts even if the batch fails.
    for (const command of commands) {
      if (command.kind === 'count_refusal') this.#refusals.count(command.refusal, this.#clock.wallMs());
    }
    try {
      for (const command of commands) checkCommand(command);
      this.#followClock(lockWaitMs);
      const answers = commands.some(isWritten)
        ? this.#store.transaction(() => this.#decideAndWrite(commands), lockWaitMs)
        : this.#decisions.decideAll(commands);
      this.#decisions.keep();
      return answers;
    } catch (error) {
      this.#decisions.rollBack();
      throw error;
    }
  }

  /** True while refusals are counted that are not in the file. */
  get hasRefusals(): boolean {
    return !this.#refusals.isEmpty;
  }

  /** Writes the counted refusals. If it throws, they are kept. */
  writeRefusals(lockWaitMs?: number): void {
    this.#store.writeRefusals(this.#refusals.all(), lockWaitMs);
    this.#refusals.clear();
  }

  /** How long journal rows are kept; undefined for ever. */
  get journalRetentionMs(): number | undefined {
    return this.#decisions.settings.journalRetentionMs;
  }

  /**
   * Drops some of the journal rows that are past their retention, if any. Returns true if there may
   * be more.
   */
  dropOldRows(lockWaitMs?: number): boolean {
    if (this.journalRetentionMs === undefined) return false;
    return this.#store.dropOldRows(this.#clock.wallMs() - this.journalRetentionMs, lockWaitMs);
  }

  /** If the clock has come back: as at a start. */
  #followClock(lockWaitMs: number | undefined): void {
    const wallMs = this.#clock.wallMs();
    const hasComeBack = wallMs < this.#latestMs - CLOCK_STEP_MS;
    if (hasComeBack && this.#store.countFutureNow(wallMs, lockWaitMs)) this.#decisions.forgetKeys();
    this.#latestMs = hasComeBack ? wallMs : Math.max(this.#latestMs, wallMs);
  }

  #summary(recoveredHolds: number): LedgerSummary {
    const { balanceNanos } = this.#decisions;
    return { created: this.#store.created, balanceNanos, keys: this.#store.countKeys(), recoveredHolds };
  }

  #decideAndWrite(commands: readonly Command[]): Answer[] {
    const answers = this.#decisions.decideAll(commands);
    this.#store.writeCharges();
    this.#decisions.checkTotals(commands.length);
    return answers;
  }
}
