/** The ledger's engine: decides batches of commands and writes each batch in one transaction. */

import { type Clock, utcMonth } from '../core/clock.ts';
import { invariant } from '../core/invariant.ts';
import type { RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { Settlement } from '../core/settlement.ts';
import type { LedgerStore } from '../state/sqlite/ledger-store.ts';
import { type Activity, type Lease, untouchedFigures } from './activity.ts';
import { ActivityTable } from './activity-table.ts';
import { type AdmissionFacts, refusalOf, refusalOfLeast, waitForListing } from './admission.ts';
import { checkCommand } from './checks.ts';
import { type CachedKey, KeyCache } from './key-cache.ts';
import type {
  Admission,
  AdmissionRequest,
  Identity,
  LedgerSettings,
  LedgerSnapshot,
  LedgerSummary,
  ListingAdmission,
} from './ledger.ts';
import { OpenLeases } from './open-leases.ts';
import { type Answer, type Command, isWritten } from './protocol.ts';
import { settleOpenHolds } from './recovery.ts';
import { RefusalCounts } from './refusal-counts.ts';
import { WINDOW_MS } from './window.ts';

/** The number of busiest keys in a snapshot. */
const BUSIEST_KEYS = 20;

export class LedgerEngine {
  readonly #store: LedgerStore;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #keys: KeyCache;
  readonly #refusals = new RefusalCounts();
  readonly #activities = new ActivityTable();
  readonly #leases = new OpenLeases();
  #balanceNanos: Nanos;
  #changeCount: number;
  /** How to undo what the current batch has changed in memory, oldest change first. */
  #undo: (() => void)[] = [];

  constructor(store: LedgerStore, settings: LedgerSettings, clock: Clock) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#keys = new KeyCache(store, settings, clock);
    this.#changeCount = store.changeCount();
    this.#balanceNanos = store.balance();
  }

  /**
   * Settles the requests that a crash left open, and rebuilds the windows of the last minute. To be
   * called once.
   */
  recover(): LedgerSummary {
    const nowMs = this.#clock.wallMs();
    const recoveredHolds = settleOpenHolds(this.#store, nowMs);
    this.#activities.rebuild(this.#store.recent(nowMs - WINDOW_MS), nowMs, this.#clock.monotonicMs());
    this.#balanceNanos = this.#store.balance();
    return {
      created: this.#store.created,
      balanceNanos: this.#balanceNanos,
      keys: this.#store.countKeys(),
      recoveredHolds,
    };
  }

  /**
   * Decides all commands in order and writes the decisions in one transaction. If it throws,
   * nothing has changed, in the file or in memory. `lockWaitMs` bounds the wait for another writer,
   * in milliseconds.
   *
   * Throws an InvariantError for an invalid command, or if the totals do not agree after the batch.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Answer[] {
    this.#undo = [];
    // First, and outside the transaction: a refusal counts even if the batch fails.
    for (const command of commands) {
      if (command.kind === 'count_refusal') this.#refusals.count(command.refusal, this.#clock.wallMs());
    }
    try {
      for (const command of commands) checkCommand(command);
      if (!commands.some(isWritten)) return this.#decideAll(commands);
      return this.#store.transaction(() => this.#decideAndWrite(commands), lockWaitMs);
    } catch (error) {
      for (const undo of this.#undo.reverse()) undo();
      // Keys that were read within the batch may include charges that were rolled back.
      this.#keys.clear();
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
    return this.#settings.journalRetentionMs;
  }

  /**
   * Drops some of the journal rows that are past their retention, if any. Returns true if there may
   * be more.
   */
  dropOldRows(lockWaitMs?: number): boolean {
    if (this.journalRetentionMs === undefined) return false;
    return this.#store.dropOldRows(this.#clock.wallMs() - this.journalRetentionMs, lockWaitMs);
  }

  #decideAndWrite(commands: readonly Command[]): Answer[] {
    const answers = this.#decideAll(commands);
    this.#store.writeCharges();
    this.#checkTotals(commands.length);
    return answers;
  }

  /**
   * Throws an InvariantError if the totals in memory are not those of the file and of the open
   * leases.
   */
  #checkTotals(commands: number): void {
    const stored = this.#store.balance();
    invariant(
      stored === this.#balanceNanos,
      () => `the balance is ${stored} nanos in the file and ${this.#balanceNanos} in memory`,
    );
    this.#leases.checkSum(commands);
  }

  #decideAll(commands: readonly Command[]): Answer[] {
    this.#noticeOtherWriters();
    return commands.map((command) => this.#decide(command));
  }

  #decide(command: Command): Answer {
    switch (command.kind) {
      case 'identify':
        return this.#identify(command.keyHash);
      case 'admit_listing':
        return this.#admitListing(command.keyHash);
      case 'admit':
        return this.#admit(command.request);
      case 'settle':
        return this.#settle(command.settlement);
      case 'configure':
        this.#configure(command.settings);
        return undefined;
      case 'snapshot':
        return this.#snapshot(command.keyIds);
      case 'count_refusal':
        return undefined;
    }
  }

  #noticeOtherWriters(): void {
    const count = this.#store.changeCount();
    if (count === this.#changeCount) return;
    this.#keys.clear();
    this.#balanceNanos = this.#store.balance();
    // Last: if a read fails, the next batch must repeat it.
    this.#changeCount = count;
  }

  #configure(settings: LedgerSettings): void {
    const before = this.#settings;
    const set = (to: LedgerSettings) => {
      this.#settings = to;
      this.#keys.configure(to);
    };
    set(settings);
    this.#undo.push(() => set(before));
  }

  #identify(keyHash: string): Identity {
    const key = this.#keys.byHash(keyHash);
    if (key === undefined || key.record.state === 'deleted') {
      return { kind: 'unknown', figures: untouchedFigures('requests', this.#settings) };
    }
    const { id: keyId, state, allowlist } = key.record;
    const activity = this.#activities.of(keyId);
    const facts = this.#facts(key, activity);
    const figures = activity.figures('requests', key.limits, facts.nowMs);
    if (state === 'disabled') return { kind: 'disabled', keyId, figures };
    const { concurrency } = key.limits;
    const refusal = refusalOfLeast(facts, 1n);
    const refusalIfFree = refusal && refusalOfLeast(facts, 0n);
    return { kind: 'enabled', keyId, allowlist, concurrency, refusal, refusalIfFree, figures };
  }

  #admitListing(keyHash: string): ListingAdmission {
    const key = this.#keys.byHash(keyHash);
    if (key === undefined || key.record.state === 'deleted') {
      return { kind: 'unknown', figures: untouchedFigures('listings', this.#settings) };
    }
    const { id: keyId, state, allowlist } = key.record;
    const activity = this.#activities.of(keyId);
    const nowMs = this.#clock.monotonicMs();
    const figures = () => activity.figures('listings', key.limits, nowMs);
    if (state === 'disabled') return { kind: 'disabled', keyId, figures: figures() };
    const retryAfterS = waitForListing({ activity, limits: key.limits, nowMs });
    if (retryAfterS > 0) {
      return { kind: 'limited', keyId, retryAfterS, limit: key.limits.modelsRpm, figures: figures() };
    }
    activity.listings.add(nowMs, 1);
    this.#undo.push(() => activity.listings.undoAdd());
    return { kind: 'admitted', keyId, allowlist, figures: figures() };
  }

  #admit(request: AdmissionRequest): Admission {
    const key = this.#keys.byHash(request.keyHash);
    if (key === undefined || key.record.state === 'deleted') {
      return {
        admitted: false,
        refusal: { reason: 'unknown_key' },
        figures: untouchedFigures('requests', this.#settings),
      };
    }
    const activity = this.#activities.of(key.record.id);
    const facts = this.#facts(key, activity);
    const refusal = refusalOf(request, facts);
    if (refusal !== undefined) {
      return { admitted: false, refusal, figures: activity.figures('requests', key.limits, facts.nowMs) };
    }
    // From here on the request is admitted.
    this.#open(request, facts);
    const figures = activity.figures('requests', key.limits, facts.nowMs);
    if (request.fallbacks === undefined) return { admitted: true, figures };
    const { allowlist } = key.record;
    return { admitted: true, figures, fallbacks: request.fallbacks.filter((id) => allowlist?.includes(id) ?? true) };
  }

  #facts(key: CachedKey, activity: Activity): AdmissionFacts {
    return {
      key: key.record,
      limits: key.limits,
      activity,
      month: key.month,
      chargedNanos: key.chargedNanos,
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      creditEnforced: this.#settings.creditEnforced,
      nowMs: this.#clock.monotonicMs(),
    };
  }

  #open(request: AdmissionRequest, { key, activity, nowMs }: AdmissionFacts): void {
    const { requestId, model, inputTokens, outputTokens, holdNanos } = request;
    const admittedAtMs = this.#clock.wallMs();
    const hold = { requestId, keyId: key.id, model, admittedAtMs, inputTokens, outputTokens, holdNanos };
    const lease: Lease = {
      hold,
      reservedTokens: request.reservedTokens,
      month: utcMonth(admittedAtMs),
      admittedMonotonicMs: nowMs,
    };
    this.#leases.add(lease, activity);
    this.#undo.push(() => this.#leases.remove(lease, activity));
    activity.requests.add(nowMs, 1);
    this.#undo.push(() => activity.requests.undoAdd());
    this.#store.hold(hold);
  }

  #settle(settlement: Settlement): RateFigures {
    const { lease, activity } = this.#leases.get(settlement.requestId);
    const nowMs = this.#clock.monotonicMs();
    // Before the charge is recorded: a key read afterwards would already include it, and it would
    // count twice.
    const key = this.#keys.byId(lease.hold.keyId);
    this.#store.settle(lease.hold, settlement, this.#clock.wallMs());
    this.#leases.remove(lease, activity);
    this.#undo.push(() => this.#leases.add(lease, activity));
    this.#countTokens(activity, settlement, nowMs);
    this.#countCharge(lease, key, settlement.costNanos);
    return key === undefined
      ? untouchedFigures('requests', this.#settings)
      : activity.figures('requests', key.limits, nowMs);
  }

  #countTokens(activity: Activity, { usage }: Settlement, nowMs: number): void {
    const tokens = usage.promptTokens + usage.completionTokens;
    if (tokens === 0) return;
    activity.tokens.add(nowMs, tokens);
    this.#undo.push(() => activity.tokens.undoAdd());
  }

  #countCharge(lease: Lease, key: CachedKey | undefined, costNanos: Nanos): void {
    const charge = (nanos: Nanos) => {
      this.#balanceNanos -= nanos;
      if (key?.month === lease.month) key.chargedNanos += nanos;
    };
    charge(costNanos);
    this.#undo.push(() => charge(-costNanos));
  }

  #snapshot(keyIds: readonly string[]): LedgerSnapshot {
    const nowMs = this.#clock.monotonicMs();
    return {
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      busiest: this.#activities.busiest(BUSIEST_KEYS, nowMs),
      keys: this.#activities.figures(keyIds, nowMs),
    };
  }
}
