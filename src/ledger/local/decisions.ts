/** The ledger's decisions, one command at a time, with everything they depend on in memory. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import { invariant } from '../../core/invariant.ts';
import type { RateFigures } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { RecentEntry } from '../../state/journal.ts';
import { isGone } from '../../state/keys.ts';
import { untouchedFigures } from '../figures.ts';
import type { EngineHandover } from '../handover.ts';
import type {
  Admission,
  AdmissionRequest,
  Grant,
  Growth,
  Identity,
  LedgerSettings,
  ListingAdmission,
} from '../ledger.ts';
import { type Answer, BUSIEST_KEYS, type Command } from '../protocol.ts';
import type { Activity, Lease } from './activity.ts';
import { ActivityTable } from './activity-table.ts';
import { type AdmissionFacts, refusalOf } from './admission.ts';
import type { Books } from './books.ts';
import { forecastOf } from './forecast.ts';
import { grown } from './growth.ts';
import { admitListing, identify } from './identify.ts';
import { type CachedKey, chargeKey, KeyCache } from './key-cache.ts';
import { OpenLeases } from './open-leases.ts';
import { chargedAsHeld } from './recovery.ts';

export class Decisions {
  readonly #store: Books;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #keys: KeyCache;
  readonly #activities = new ActivityTable();
  readonly #leases = new OpenLeases();
  #balanceNanos: Nanos;
  #changeCount: number;
  /** How to undo what the current batch has changed in memory, oldest change first. */
  #undo: (() => void)[] = [];

  constructor(store: Books, settings: LedgerSettings, clock: Clock) {
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#keys = new KeyCache(store, settings, clock, (keyIds) => this.#leases.heldBy(keyIds));
    this.#changeCount = store.changeCount();
    this.#balanceNanos = store.balance();
  }

  get settings(): LedgerSettings {
    return this.#settings;
  }

  get balanceNanos(): Nanos {
    return this.#balanceNanos;
  }

  /** The sum of all open holds. */
  get heldNanos(): Nanos {
    return this.#leases.heldNanos;
  }

  /** Rebuilds what a restart has lost: the windows of the last minute, from the requests that ended in it. */
  rebuild(recent: readonly RecentEntry[]): void {
    this.#activities.rebuild(recent, this.#clock.wallMs(), this.#clock.monotonicMs());
    this.#balanceNanos = this.#store.balance();
  }

  /** What is only in memory; `machineMs` is now. */
  handOver(machineMs: number): EngineHandover {
    const nowMs = this.#clock.monotonicMs();
    const shiftMs = machineMs - nowMs;
    const open = this.#leases.all().map(({ admittedMonotonicMs, ...lease }) => ({
      ...lease,
      admittedAtMs: admittedMonotonicMs + shiftMs,
    }));
    return { keys: this.#activities.handOver(nowMs, shiftMs), open };
  }

  /** Takes over what was only in the memory of an earlier process; `machineMs` is now. */
  adopt({ keys, open }: EngineHandover, machineMs: number): void {
    const shiftMs = this.#clock.monotonicMs() - machineMs;
    this.#activities.adopt(keys, shiftMs);
    for (const { admittedAtMs, ...rest } of open.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      const lease: Lease = { ...rest, admittedMonotonicMs: admittedAtMs + shiftMs };
      this.#leases.add(lease, this.#activities.of(lease.hold.keyId));
    }
    this.#balanceNanos = this.#store.balance();
  }

  /** Admits a listing. `counts` are those in flight that are not known here, where it is a count and needs a slot. */
  admitListing(keyHash: string, counts: number | undefined): ListingAdmission {
    const now = { wallMs: this.#clock.wallMs(), nowMs: this.#clock.monotonicMs() };
    const admission = admitListing(this.#known(keyHash), this.#activities, this.#settings, now, counts);
    if (admission.kind === 'admitted') {
      const { listings } = this.#activities.of(admission.keyId);
      this.#undo.push(() => listings.undoAdd());
    }
    return admission;
  }

  /** The lease of an open request; undefined if there is none. */
  leaseOf(requestId: string): Lease | undefined {
    return this.#leases.find(requestId)?.lease;
  }

  /** What a key has in its windows and in flight; undefined if that is nothing then. */
  activityOf(keyId: string, nowMs = this.#clock.monotonicMs()): Activity | undefined {
    return this.#activities.active(keyId, nowMs);
  }

  /** Ends a request that was never sent: it leaves its window, and nothing is charged. */
  giveBack(requestId: string): void {
    const { lease, activity } = this.#leases.get(requestId);
    this.#leases.remove(lease, activity);
    activity.requests.take(lease.admittedMonotonicMs, 1);
  }

  /** Tokens of a key that were counted then are counted again as others now. */
  recountTokens(keyId: string, countedMs: number, counted: number, tokens: number): void {
    const activity = this.#activities.of(keyId);
    if (counted > 0) activity.tokens.take(countedMs, counted);
    if (tokens > 0) activity.tokens.add(this.#clock.monotonicMs(), tokens);
  }

  /** The clock was ahead and came back: what is dated after it is dated now. */
  followClock(): void {
    this.#activities.followClock(this.#clock.monotonicMs());
    this.#keys.clear();
  }

  /** Forgets keys that have nothing in their windows nor in flight. */
  dropIdle(): void {
    this.#activities.dropIdle(this.#clock.monotonicMs());
    this.#keys.clear();
  }

  /** The rate-limit figures of a key; the defaults for one that is not known. */
  figuresOf(keyId: string): RateFigures {
    const key = this.#keys.byId(keyId);
    if (key === undefined) return untouchedFigures('requests', this.#settings);
    return this.#activities.of(keyId).figures('requests', key.limits, this.#clock.monotonicMs());
  }

  /** Decides the commands of a batch, in order. */
  decideAll(commands: readonly Command[]): Answer[] {
    this.noticeOtherWriters();
    return commands.map((command) => this.#decide(command));
  }

  /** The batch is in the file, and will not be undone. */
  keep(): void {
    this.#undo = [];
  }

  /** Keys are read again: what is stored of them has changed. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  /** Undoes what the batch has changed in memory. */
  rollBack(): void {
    for (const undo of this.#undo.reverse()) undo();
    this.#undo = [];
    // Keys that were read within the batch may include charges that were rolled back.
    this.#keys.clear();
  }

  /** Throws an InvariantError if the totals in memory are not those of the file and of the open leases. */
  checkTotals(commands: number): void {
    const stored = this.#store.balance();
    invariant(
      stored === this.#balanceNanos,
      () => `the balance is ${stored} nanos in the file and ${this.#balanceNanos} in memory`,
    );
    this.#leases.checkSum(commands);
  }

  /** Takes over what somebody else has changed: before each batch, and before a listing on its own. */
  noticeOtherWriters(): void {
    const count = this.#store.changeCount();
    if (count === this.#changeCount) return;
    this.#keys.clear();
    this.#balanceNanos = this.#store.balance();
    // Last: if a read fails, the next batch must repeat it.
    this.#changeCount = count;
  }

  #decide(command: Command): Answer {
    switch (command.kind) {
      case 'identify':
        return this.#identify(command.keyHash);
      case 'admit_listing':
        return this.#admitListing(command);
      case 'end_count':
        return this.#endCount(command.countId);
      case 'admit':
        return this.#admit(command.request);
      case 'forecast': {
        const key = this.#keys.byId(command.question.keyId);
        return forecastOf(command.question, key && this.#facts(key));
      }
      case 'settle':
        return this.#settle(command.settlement);
      case 'grow':
        return this.#grow(command.growth);
      case 'charge_held':
        this.#settle(chargedAsHeld(this.#leases.get(command.requestId).lease.hold));
        return undefined;
      case 'free_slot':
        this.#freeSlot(command.requestId);
        return undefined;
      case 'configure':
        this.#configure(command.settings);
        return undefined;
      case 'snapshot': {
        const activities = this.#activities.snapshot(command.keyIds, BUSIEST_KEYS, this.#clock.monotonicMs());
        return { balanceNanos: this.#balanceNanos, heldNanos: this.#leases.heldNanos, ...activities };
      }
      case 'count_refusal':
        return undefined;
    }
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
    const key = this.#known(keyHash);
    return identify(key && this.#facts(key, this.#activities.of(key.record.id)), this.#settings);
  }

  #admitListing({ keyHash, countId }: Extract<Command, { kind: 'admit_listing' }>): ListingAdmission {
    const admission = this.admitListing(keyHash, countId === undefined ? undefined : 0);
    if (admission.kind === 'admitted' && countId !== undefined) {
      this.#activities.beginCount(countId, admission.keyId);
      this.#undo.push(() => this.#activities.endCount(countId));
    }
    return admission;
  }

  #endCount(countId: string): undefined {
    const keyId = this.#activities.endCount(countId);
    if (keyId !== undefined) this.#undo.push(() => this.#activities.beginCount(countId, keyId));
  }

  /** The key with that hash, unless it is refused as if there were none. */
  #known(keyHash: string): CachedKey | undefined {
    const key = this.#keys.byHash(keyHash);
    return key === undefined || isGone(key.record, this.#clock.wallMs()) ? undefined : key;
  }

  #admit(request: AdmissionRequest): Admission {
    const key = this.#known(request.keyHash);
    if (key === undefined) {
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

  #facts(key: CachedKey, activity = this.#activities.of(key.record.id)): AdmissionFacts {
    return {
      key: key.record,
      limits: key.limits,
      activity,
      month: key.month,
      chargedNanos: key.chargedNanos,
      budgets: key.budgets,
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      creditEnforced: this.#settings.creditEnforced,
      wallMs: this.#clock.wallMs(),
      nowMs: this.#clock.monotonicMs(),
    };
  }

  #open(request: AdmissionRequest, { key, activity, nowMs }: AdmissionFacts): void {
    const { requestId, model, inputTokens, outputTokens, holdNanos, price } = request;
    const admittedAtMs = this.#clock.wallMs();
    const hold = { requestId, keyId: key.id, model, admittedAtMs, inputTokens, outputTokens, holdNanos, price };
    const lease: Lease = {
      hold,
      reservedTokens: request.reservedTokens,
      month: utcMonth(admittedAtMs),
      admittedMonotonicMs: nowMs,
      hasSlot: true,
    };
    this.#leases.add(lease, activity);
    this.#undo.push(() => this.#leases.remove(lease, activity));
    activity.requests.add(nowMs, 1);
    this.#undo.push(() => activity.requests.undoAdd());
    this.#store.journal.hold(hold);
  }

  #settle(settlement: Settlement): RateFigures {
    const { lease, activity } = this.#leases.get(settlement.requestId);
    const [nowMs, wallMs] = [this.#clock.monotonicMs(), this.#clock.wallMs()];
    // Before the charge is recorded: a key read afterwards would already include it, and it would count twice.
    const key = this.#keys.byId(lease.hold.keyId);
    this.#store.journal.settle(lease.hold, settlement, wallMs);
    this.#leases.remove(lease, activity);
    this.#undo.push(() => this.#leases.add(lease, activity));
    if (activity.countTokens(settlement.usage, nowMs)) this.#undo.push(() => activity.tokens.undoAdd());
    // Of the key not to be undone: a rollback forgets all keys.
    if (key !== undefined) chargeKey(key, lease, wallMs, settlement.costNanos);
    this.#balanceNanos -= settlement.costNanos;
    this.#undo.push(() => {
      this.#balanceNanos += settlement.costNanos;
    });
    return key === undefined
      ? untouchedFigures('requests', this.#settings)
      : activity.figures('requests', key.limits, nowMs);
  }

  #grow(growth: Growth): Grant {
    const { lease, activity } = this.#leases.get(growth.requestId);
    const { hold, month } = lease;
    const key = this.#keys.byId(hold.keyId);
    const after = grown(growth, {
      hold,
      spendLimitNanos: key?.record.spendLimitNanos ?? null,
      // The hold counts in the month of its admission, which may be over.
      chargedNanos: key?.month === month ? key.chargedNanos : this.#store.journal.chargedInMonth(hold.keyId, month),
      heldOfKeyNanos: activity.heldIn(month),
      budgets: key?.budgets?.roomsOf(hold.admittedAtMs, activity, this.#clock.wallMs()) ?? [],
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      creditEnforced: this.#settings.creditEnforced,
    });
    if ('reason' in after) return { granted: false, refusal: after };
    this.#store.journal.grow(after);
    // Where output is reserved at all, the reservation grows with what the hold covers.
    const grownTokens = lease.reservedTokens > hold.inputTokens ? after.outputTokens - hold.outputTokens : 0;
    this.#replace(lease, { ...lease, hold: after, reservedTokens: lease.reservedTokens + grownTokens }, activity);
    return { granted: true, holdNanos: after.holdNanos };
  }

  #freeSlot(requestId: string): void {
    const { lease, activity } = this.#leases.get(requestId);
    this.#replace(lease, { ...lease, hasSlot: false }, activity);
  }

  #replace(before: Lease, after: Lease, activity: Activity): void {
    this.#leases.replace(before, after, activity);
    this.#undo.push(() => this.#leases.replace(after, before, activity));
  }
}
