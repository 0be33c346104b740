/** The ledger's decisions and their writing: batches of commands in, one transaction each, answers out. */

import { type Clock, utcMonth } from '../core/clock.ts';
import type { RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { Settlement } from '../core/settlement.ts';
import { Account } from '../state/sqlite/account.ts';
import { assertKnownVersion, dataVersion, immediately, type Sqlite } from '../state/sqlite/database.ts';
import { Journal } from '../state/sqlite/journal.ts';
import { KeyStore } from '../state/sqlite/keys.ts';
import { RefusalCounts } from '../state/sqlite/refusal-counts.ts';
import { Activities } from './activities.ts';
import { type Activity, type Lease, untouchedFigures } from './activity.ts';
import { type AdmissionFacts, refusalOf, waitForListing } from './admission.ts';
import { type CachedKey, KeyCache } from './key-cache.ts';
import type {
  Admission,
  AdmissionRequest,
  Identity,
  LedgerOptions,
  LedgerSettings,
  LedgerSnapshot,
  LedgerSummary,
  ListingAdmission,
} from './ledger.ts';
import { type Answer, type Command, isWritten } from './protocol.ts';
import { WINDOW_MS } from './window.ts';

/** How many keys are told of as the busiest ones. */
const BUSIEST_KEYS = 20;
/** The end of a request that a crash has left open. */
const INTERRUPTED = {
  outcome: 'interrupted',
  source: 'held',
  completionId: undefined,
  firstByteMs: undefined,
} as const;

export class LedgerEngine {
  readonly #database: Sqlite;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #keyStore: KeyStore;
  readonly #account: Account;
  readonly #journal: Journal;
  readonly #keys: KeyCache;
  readonly #refusals: RefusalCounts;

  readonly #activities = new Activities();
  /** The lease of each open request, and what its key is doing. */
  readonly #openRequests = new Map<string, { readonly lease: Lease; readonly activity: Activity }>();
  #balanceNanos: Nanos;
  #heldNanos: Nanos = 0n;
  #dataVersion: number;
  /** How to take back, newest first, what the batch under way changed in memory. */
  #undo: (() => void)[] = [];

  constructor(database: Sqlite, options: LedgerOptions, clock: Clock) {
    this.#database = database;
    this.#settings = options;
    this.#clock = clock;
    this.#keyStore = new KeyStore(database);
    this.#account = new Account(database);
    this.#journal = new Journal(database);
    this.#keys = new KeyCache(this.#keyStore, this.#journal, options, clock);
    this.#refusals = new RefusalCounts(database);
    this.#dataVersion = dataVersion(database);
    this.#balanceNanos = this.#account.balance().balanceNanos;
  }

  /** Settles what a crash left open, as held, and rebuilds the windows of the last minute. */
  recover(created: boolean): LedgerSummary {
    const nowMs = this.#clock.wallMs();
    const holds = immediately(this.#database, () => {
      const open = this.#journal.openHolds();
      for (const hold of open) {
        const usage = { promptTokens: hold.inputTokens, cachedTokens: 0, completionTokens: hold.outputTokens };
        this.#journal.settle(hold, { ...INTERRUPTED, usage, costNanos: hold.holdNanos }, nowMs);
      }
      this.#journal.writeSums();
      return open;
    });
    this.#activities.rebuild(this.#journal.recent(nowMs - WINDOW_MS), nowMs, this.#clock.monotonicMs());
    this.#balanceNanos = this.#account.balance().balanceNanos;
    return {
      created,
      balanceNanos: this.#balanceNanos,
      keys: this.#keyStore.count(),
      recoveredHolds: holds.length,
    };
  }

  /**
   * Decides all commands in their order and writes what they decided in one transaction. When it throws, nothing was
   * changed, in the file or in memory. `lockWaitMs` bounds the wait for another writer, in milliseconds.
   */
  process(commands: readonly Command[], lockWaitMs?: number): Answer[] {
    this.#undo = [];
    // First of all, and for good: a refusal stays one, whatever becomes of the batch.
    for (const command of commands) {
      if (command.kind === 'count_refusal') this.#refusals.count(command.refusal, this.#clock.wallMs());
    }
    try {
      if (!commands.some(isWritten)) return this.#decideAll(commands);
      return immediately(this.#database, () => this.#decideAndWrite(commands), lockWaitMs);
    } catch (error) {
      this.#journal.forgetSums();
      for (const undo of this.#undo.reverse()) undo();
      // Keys that were read within the batch may have seen charges that were taken back.
      this.#keys.clear();
      throw error;
    }
  }

  /** How long rows of the journal are to be kept; undefined for ever. */
  get journalRetentionMs(): number | undefined {
    return this.#settings.journalRetentionMs;
  }

  /** True while refusals are counted that the file has not got. */
  get hasRefusals(): boolean {
    return this.#refusals.isPending;
  }

  /** Writes the counted refusals. When it throws they are kept. */
  writeRefusals(lockWaitMs?: number): void {
    const write = () => {
      assertKnownVersion(this.#database);
      this.#refusals.write();
    };
    immediately(this.#database, write, lockWaitMs);
    this.#refusals.forget();
  }

  #decideAndWrite(commands: readonly Command[]): Answer[] {
    const answers = this.#decideAll(commands);
    this.#journal.writeSums();
    return answers;
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
    const version = dataVersion(this.#database);
    if (version === this.#dataVersion) return;
    assertKnownVersion(this.#database);
    this.#keys.clear();
    this.#balanceNanos = this.#account.balance().balanceNanos;
    // Last of all: a read that fails must be made again with the next batch.
    this.#dataVersion = version;
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
      return { kind: 'unknown', figures: untouchedFigures(this.#settings) };
    }
    const figures = this.#activities.of(key.record.id).figures(key.limits, this.#clock.monotonicMs());
    if (key.record.state === 'disabled') return { kind: 'disabled', keyId: key.record.id, figures };
    return { kind: 'enabled', keyId: key.record.id, allowlist: key.record.allowlist, figures };
  }

  #admitListing(keyHash: string): ListingAdmission {
    const key = this.#keys.byHash(keyHash);
    if (key === undefined || key.record.state === 'deleted') {
      return { kind: 'unknown', figures: untouchedFigures(this.#settings, true) };
    }
    const { id: keyId, state, allowlist } = key.record;
    const activity = this.#activities.of(keyId);
    const nowMs = this.#clock.monotonicMs();
    const figures = () => activity.figures(key.limits, nowMs, true);
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
      return { admitted: false, refusal: { reason: 'unknown_key' }, figures: untouchedFigures(this.#settings) };
    }
    const activity = this.#activities.of(key.record.id);
    const facts = this.#facts(key, activity);
    const refusal = refusalOf(request, facts);
    if (refusal !== undefined) {
      return { admitted: false, refusal, figures: activity.figures(key.limits, facts.nowMs) };
    }
    // From here on nothing refuses any more.
    this.#open(request, facts);
    const figures = activity.figures(key.limits, facts.nowMs);
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
      heldNanos: this.#heldNanos,
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
    this.#journal.hold(hold);
    activity.requests.add(nowMs, 1);
    this.#undo.push(() => activity.requests.undoAdd());
    this.#addLease(lease, activity);
    this.#undo.push(() => this.#removeLease(lease, activity));
  }

  #settle(settlement: Settlement): RateFigures {
    const open = this.#openRequests.get(settlement.requestId);
    if (open === undefined) {
      throw new Error(`request ${settlement.requestId} is not open: it was settled twice or never admitted`);
    }
    const { lease, activity } = open;
    const nowMs = this.#clock.monotonicMs();
    // Read before the charge is written: a key that is read afterwards would count it twice.
    const key = this.#keys.byId(lease.hold.keyId);
    this.#journal.settle(lease.hold, settlement, this.#clock.wallMs());
    this.#removeLease(lease, activity);
    this.#undo.push(() => this.#addLease(lease, activity));
    this.#countTokens(activity, settlement, nowMs);
    this.#countCharge(lease, key, settlement.costNanos);
    return key === undefined ? untouchedFigures(this.#settings) : activity.figures(key.limits, nowMs);
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
      heldNanos: this.#heldNanos,
      busiest: this.#activities.busiest(BUSIEST_KEYS, nowMs),
      keys: this.#activities.figures(keyIds, nowMs),
    };
  }

  #addLease(lease: Lease, activity: Activity): void {
    activity.open(lease);
    this.#openRequests.set(lease.hold.requestId, { lease, activity });
    this.#heldNanos += lease.hold.holdNanos;
  }

  #removeLease(lease: Lease, activity: Activity): void {
    activity.end(lease);
    this.#openRequests.delete(lease.hold.requestId);
    this.#heldNanos -= lease.hold.holdNanos;
  }
}
