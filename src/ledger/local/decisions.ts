/** Decides the commands of the ledger one by one, with all state in memory. */

import { type Clock, utcMonth } from '../../core/clock.ts';
import { invariant } from '../../core/invariant.ts';
import type { RateFigures } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import type { Settlement } from '../../core/settlement.ts';
import type { HoldRow, RecentEntry } from '../../state/journal.ts';
import { levelIdsOf } from '../../state/levels.ts';
import { type RequestWindow, untouchedFigures } from '../figures.ts';
import type { EngineHandover } from '../handover.ts';
import type {
  Admission,
  AdmissionRequest,
  Grant,
  Growth,
  Identity,
  LedgerSettings,
  ListingAdmission,
  Refusal,
} from '../ledger.ts';
import { type Answer, BUSIEST_KEYS, type Command } from '../protocol.ts';
import type { Activity, Lease } from './activity.ts';
import { ActivityTable } from './activity-table.ts';
import { type AdmissionFacts, allowlistOf, at, type LevelFacts, refusalOf } from './admission.ts';
import type { Books } from './books.ts';
import { forecastOf } from './forecast.ts';
import { grown, type LevelRoom } from './growth.ts';
import { admitListing, figuresOf, identify } from './identify.ts';
import { type Chain, charge, type KeyLevel, type Level, LevelCache } from './level-cache.ts';
import { type OpenLease, OpenLeases } from './open-leases.ts';
import { chargedAsHeld } from './recovery.ts';

export class Decisions {
  readonly #store: Books;
  #settings: LedgerSettings;
  readonly #clock: Clock;
  readonly #levels: LevelCache;
  readonly #activities = new ActivityTable();
  readonly #leases = new OpenLeases();
  #balanceNanos: Nanos;
  #changeCount: number;
  /** Undo functions for the changes of the current batch, oldest first; undefined if batches cannot be rolled back. */
  #undo: (() => void)[] | undefined;

  constructor(
    store: Books,
    settings: LedgerSettings,
    clock: Clock,
    { canRollBack }: { readonly canRollBack: boolean },
  ) {
    this.#undo = canRollBack ? [] : undefined;
    this.#store = store;
    this.#settings = settings;
    this.#clock = clock;
    this.#levels = new LevelCache(store, settings, clock);
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

  get openCount(): number {
    return this.#leases.size;
  }

  openHolds(): HoldRow[] {
    return this.#leases.all().map(({ hold }) => hold);
  }

  /** Rebuilds the windows after a restart from the requests that ended in the last minute. */
  rebuild(recent: readonly RecentEntry[]): void {
    this.#activities.rebuild(recent, this.#clock.wallMs(), this.#clock.monotonicMs());
    this.#balanceNanos = this.#store.balance();
  }

  /** The state that exists only in memory. `machineMs`: the current time of the clock that both processes share. */
  handOver(machineMs: number): EngineHandover {
    const nowMs = this.#clock.monotonicMs();
    const shiftMs = machineMs - nowMs;
    const open = this.#leases.all().map(({ admittedMonotonicMs, ...lease }) => ({
      ...lease,
      admittedAtMs: admittedMonotonicMs + shiftMs,
    }));
    return { keys: this.#activities.handOver(nowMs, shiftMs), open };
  }

  /** Restores the in-memory state of an earlier process. `machineMs`: the current time of the shared clock. */
  adopt({ keys, open }: EngineHandover, machineMs: number): void {
    const shiftMs = this.#clock.monotonicMs() - machineMs;
    this.#activities.adopt(keys, shiftMs);
    for (const { admittedAtMs, ...rest } of open.toSorted((a, b) => a.admittedAtMs - b.admittedAtMs)) {
      const lease: Lease = { ...rest, admittedMonotonicMs: admittedAtMs + shiftMs };
      this.#leases.add({ lease, activities: this.#activitiesOf(levelIdsOf(lease.hold)), chain: undefined });
    }
    this.#balanceNanos = this.#store.balance();
  }

  /** Admits a listing. `counts`: for a token count, which needs a slot, the counts in flight unknown to this object. */
  admitListing(keyId: string, counts: number | undefined): ListingAdmission {
    return this.#list(this.#levels.key(keyId), counts);
  }

  #list(key: KeyLevel | undefined, counts: number | undefined): ListingAdmission {
    const admission = admitListing(key && this.#facts(key), this.#settings, counts);
    if (admission.kind === 'admitted') {
      const { listings } = this.#activities.of(admission.keyId);
      this.#undo?.push(() => listings.undoAdd());
    }
    return admission;
  }

  /** The lease of an open request; undefined if the request is not open. */
  leaseOf(requestId: string): Lease | undefined {
    return this.#leases.find(requestId)?.lease;
  }

  /** The activity of a level; undefined if it is idle at `nowMs`. */
  activityOf(levelId: string, nowMs = this.#clock.monotonicMs()): Activity | undefined {
    return this.#activities.active(levelId, nowMs);
  }

  /** Ends a request that was never sent: removes it from the windows and charges no money. */
  giveBack(requestId: string): void {
    const open = this.#leases.get(requestId);
    this.#leases.remove(open);
    for (const { requests } of open.activities) requests.take(open.lease.admittedMonotonicMs, 1);
  }

  /** Replaces `counted` tokens, counted at `countedMs`, by `tokens` at the current time. */
  recountTokens(levelIds: readonly string[], countedMs: number, counted: number, tokens: number): void {
    for (const activity of this.#activitiesOf(levelIds)) {
      if (counted > 0) activity.tokens.take(countedMs, counted);
      if (tokens > 0) activity.tokens.add(this.#clock.monotonicMs(), tokens);
    }
  }

  /** After the clock was set back: moves future window entries to the current time. */
  followClock(): void {
    this.#activities.followClock(this.#clock.monotonicMs());
    this.#levels.clear();
  }

  /** Drops idle levels. */
  dropIdle(): void {
    this.#activities.dropIdle(this.#clock.monotonicMs());
    this.#levels.clear();
  }

  /** The rate-limit figures of a key; the defaults for an unknown key. */
  figuresOf(keyId: string): RateFigures {
    const key = this.#levels.key(keyId);
    return key === undefined ? untouchedFigures('requests', this.#settings) : figuresOf('requests', this.#facts(key));
  }

  /** Decides the commands of a batch, in order. */
  decideAll(commands: readonly Command[]): Answer[] {
    this.noticeOtherWriters();
    return commands.map((command) => this.#decide(command));
  }

  /** Keeps the changes of the batch after its commit. */
  keep(): void {
    this.#undo &&= [];
    this.#activities.sweep(this.#clock.monotonicMs());
  }

  /** Drops cached keys after a change in the store. */
  forgetKeys(): void {
    this.#levels.clear();
  }

  /** Undoes the in-memory changes of the batch. */
  rollBack(): void {
    for (const undo of this.#undo?.reverse() ?? []) undo();
    this.#undo &&= [];
    // Levels read within the batch may include rolled-back charges.
    this.#levels.clear();
  }

  /** Throws an InvariantError if the totals in memory differ from the file or from the open leases. */
  checkTotals(commands: number): void {
    const stored = this.#store.balance();
    invariant(
      stored === this.#balanceNanos,
      () => `the balance is ${stored} nanos in the file and ${this.#balanceNanos} in memory`,
    );
    this.#leases.checkSum(commands);
  }

  /** Reloads state after a commit of another writer. Called before each batch and before a separate listing. */
  noticeOtherWriters(): void {
    const count = this.#store.changeCount();
    if (count === this.#changeCount) return;
    this.#levels.clear();
    this.#balanceNanos = this.#store.balance();
    // Set last: if a read fails, the next batch repeats it.
    this.#changeCount = count;
  }

  #decide(command: Command): Answer {
    switch (command.kind) {
      case 'identify':
        return this.#identify(this.#levels.byHash(command.keyHash), command.window);
      case 'admit_listing':
        return this.#admitListing(command);
      case 'end_count':
        return this.#endCount(command.countId);
      case 'admit':
        return this.#admit(command.request, this.#levels.byHash(command.request.keyHash));
      case 'forecast': {
        const key = this.#levels.key(command.question.keyId);
        return forecastOf(command.question, (user) => key && this.#facts(key, user));
      }
      case 'settle':
        return this.settle(command.settlement);
      case 'grow':
        return this.grow(command.growth);
      case 'charge_held':
        this.end(chargedAsHeld(this.#leases.get(command.requestId).lease.hold));
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
      this.#levels.configure(to);
    };
    set(settings);
    this.#undo?.push(() => set(before));
  }

  /** Identifies a key by id. */
  identify(keyId: string, window?: RequestWindow): Identity {
    this.noticeOtherWriters();
    return this.#identify(this.#levels.key(keyId), window);
  }

  #identify(key: KeyLevel | undefined, window: RequestWindow | undefined): Identity {
    return identify(key && this.#facts(key), this.#settings, window);
  }

  #admitListing({ keyHash, countId }: Extract<Command, { kind: 'admit_listing' }>): ListingAdmission {
    const admission = this.#list(this.#levels.byHash(keyHash), countId === undefined ? undefined : 0);
    if (admission.kind === 'admitted' && countId !== undefined) {
      this.#activities.beginCount(countId, admission.keyId);
      this.#undo?.push(() => this.#activities.endCount(countId));
    }
    return admission;
  }

  #endCount(countId: string): undefined {
    const keyId = this.#activities.endCount(countId);
    if (keyId !== undefined) this.#undo?.push(() => this.#activities.beginCount(countId, keyId));
  }

  /** Decides a request of the key with this id. */
  admit(keyId: string, request: AskedRequest): Admission {
    return this.#admit(request, this.#levels.key(keyId));
  }

  /** Like `admit`, without computing reasons and figures. Returns true if the request was admitted. */
  take(keyId: string, request: AskedRequest): boolean {
    const key = this.#levels.key(keyId);
    return key !== undefined && this.#openOrRefuse(request, this.#facts(key, request.user)) === undefined;
  }

  #admit(request: AskedRequest, key: KeyLevel | undefined): Admission {
    const facts = key && this.#facts(key, request.user);
    const refusal = facts === undefined ? UNKNOWN_KEY : this.#openOrRefuse(request, facts);
    if (facts === undefined || refusal?.reason === 'unknown_key') {
      return { admitted: false, refusal: UNKNOWN_KEY, figures: untouchedFigures('requests', this.#settings) };
    }
    const figures = figuresOf('requests', facts);
    if (refusal !== undefined) return { admitted: false, refusal, figures };
    const { groups } = facts.chain;
    const admitted = { ...(groups && { groups }), admitted: true, figures } as const;
    if (request.fallbacks === undefined) return admitted;
    const allowlist = allowlistOf(facts);
    return { ...admitted, fallbacks: request.fallbacks.filter((id) => allowlist?.includes(id) ?? true) };
  }

  #openOrRefuse(request: AskedRequest, facts: ChainFacts): Refusal | undefined {
    const refusal = refusalOf(request, facts);
    // All checks have passed.
    if (refusal === undefined) this.#open(request, facts);
    return refusal;
  }

  #facts(key: KeyLevel, user?: string): ChainFacts {
    const chain = this.#levels.chainOf(key, user);
    return {
      key: key.record,
      chain,
      levels: chain.levels.map(this.#withActivity),
      month: key.month,
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      creditEnforced: this.#settings.creditEnforced,
      wallMs: this.#clock.wallMs(),
      nowMs: this.#clock.monotonicMs(),
    };
  }

  readonly #withActivity = (level: Level): KnownLevel => ({ level, activity: this.#activities.of(level.id) });

  #activitiesOf(levelIds: readonly string[]): readonly Activity[] {
    return levelIds.map((id) => this.#activities.of(id));
  }

  #open(request: AskedRequest, { key, chain, levels, nowMs }: ChainFacts): void {
    const { requestId, model, inputTokens, outputTokens, holdNanos, price, user } = request;
    const admittedAtMs = this.#clock.wallMs();
    const booked = { keyId: key.id, levels: chain.outerIds };
    const hold = { ...booked, requestId, model, admittedAtMs, inputTokens, outputTokens, holdNanos, price, user };
    const lease: Lease = {
      hold,
      reservedTokens: request.reservedTokens,
      month: utcMonth(admittedAtMs),
      admittedMonotonicMs: nowMs,
      hasSlot: true,
    };
    const activities = levels.map(({ activity }) => activity);
    const open = { lease, activities, chain };
    this.#leases.add(open);
    for (const { requests } of activities) requests.add(nowMs, 1);
    this.#undo?.push(() => {
      this.#leases.remove(open);
      for (const { requests } of activities) requests.undoAdd();
    });
    this.#store.journal.hold(hold);
  }

  /** Settles a request and returns the key's rate-limit figures. */
  settle(settlement: Settlement): RateFigures {
    const open = this.#leases.get(settlement.requestId);
    const { keyId } = open.lease.hold;
    const levels = this.end(settlement, open);
    const isKnown = levels.some(({ level }) => level.id === keyId);
    const nowMs = this.#clock.monotonicMs();
    return isKnown ? figuresOf('requests', { levels, nowMs }) : untouchedFigures('requests', this.#settings);
  }

  /** Like `settle`, without figures. Returns the remaining levels that the request was admitted by. */
  end(settlement: Settlement, open = this.#leases.get(settlement.requestId)): readonly LevelFacts[] {
    const { lease, activities } = open;
    const { usage, costNanos } = settlement;
    const [nowMs, wallMs] = [this.#clock.monotonicMs(), this.#clock.wallMs()];
    // Looked up before the charge is written: a level read afterwards would include the charge, and it would count
    // twice.
    const levels = this.#levelsOf(open);
    this.#store.journal.settle(lease.hold, settlement, wallMs);
    this.#leases.remove(open);
    const tokens = usage.promptTokens + usage.completionTokens;
    if (tokens > 0) for (const activity of activities) activity.tokens.add(nowMs, tokens);
    // Not undone individually: a rollback drops all cached levels.
    for (const { level } of levels) charge(level, lease, wallMs, costNanos);
    this.#balanceNanos -= costNanos;
    this.#undo?.push(() => {
      this.#leases.add(open);
      if (tokens > 0) for (const activity of activities) activity.tokens.undoAdd();
      this.#balanceNanos += costNanos;
    });
    return levels;
  }

  /** The levels that a request was admitted by, except deleted ones. */
  #levelsOf({ lease, activities, chain }: OpenLease): readonly KnownLevel[] {
    const isCurrent = chain !== undefined && this.#levels.isCurrent(chain);
    const levels = isCurrent ? chain.levels : levelIdsOf(lease.hold).map((id) => this.#levels.find(id));
    const known: KnownLevel[] = [];
    for (let at = 0; at < levels.length; at++) {
      const level = levels[at];
      if (level !== undefined) known.push({ level, activity: activities[at] as Activity });
    }
    return known;
  }

  /** Grows the hold of a request as far as money allows. */
  grow(growth: Growth): Grant {
    const open = this.#leases.get(growth.requestId);
    const { lease } = open;
    const { hold } = lease;
    const levels = this.#levelsOf(open);
    const key = levels.find(({ level }) => level.id === hold.keyId);
    const after = grown(growth, {
      hold,
      keyName: key?.level.name.name ?? hold.keyId,
      levels: levels.map((each) => this.#roomAt(each, lease)),
      balanceNanos: this.#balanceNanos,
      heldNanos: this.#leases.heldNanos,
      creditEnforced: this.#settings.creditEnforced,
    });
    if ('reason' in after) return { granted: false, refusal: after };
    this.#store.journal.grow(after.hold);
    // If the request reserves output tokens, the reservation grows with the hold.
    const grownTokens = lease.reservedTokens > hold.inputTokens ? after.hold.outputTokens - hold.outputTokens : 0;
    this.#replace(open, { ...lease, hold: after.hold, reservedTokens: lease.reservedTokens + grownTokens });
    return { granted: true, holdNanos: after.hold.holdNanos, leftNanos: after.leftNanos };
  }

  #roomAt({ level, activity }: { level: Level; activity: Activity }, { hold, month }: Lease): LevelRoom {
    const isCurrent = level.month === month;
    return {
      at: at({ level, activity }, { key: { id: hold.keyId } }),
      spendLimitNanos: level.spendLimitNanos,
      // The hold counts in the month of admission, which may have ended.
      chargedNanos: isCurrent ? level.chargedNanos : this.#store.journal.chargedInMonth(level.id, month),
      heldNanos: activity.heldIn(month),
      budgets: level.budgets?.roomsOf(hold.admittedAtMs, activity, this.#clock.wallMs()) ?? [],
    };
  }

  #freeSlot(requestId: string): void {
    const open = this.#leases.get(requestId);
    this.#replace(open, { ...open.lease, hasSlot: false });
  }

  #replace(open: OpenLease, after: Lease): void {
    this.#leases.replace(open, after);
    this.#undo?.push(() => this.#leases.replace({ ...open, lease: after }, open.lease));
  }
}

type KnownLevel = LevelFacts & { readonly level: Level };
/** The state that an admission depends on, with the cached levels. */
type ChainFacts = AdmissionFacts & { readonly chain: Chain };

/** A request for admission with a known key. */
export type AskedRequest = Omit<AdmissionRequest, 'keyHash'>;

const UNKNOWN_KEY = { reason: 'unknown_key' } as const;
