/** What clients and operators have seen, and what a state must hold for it, without a look at how the ledger works. */
import assert from 'node:assert/strict';
import type { Refusal } from '../../src/ledger/ledger.ts';
import type { KeyRecord } from '../../src/state/keys.ts';
import type { UsageRow } from '../../src/state/usage.ts';
import type { End } from './disk.ts';

const WINDOW_MS = 60_000;

/** A request as its client knows it. */
export interface Seen {
  readonly id: string;
  /** The worker that serves it. */
  readonly worker: number;
  readonly key: number;
  /** Whom it was for. */
  readonly user: string | undefined;
  readonly model: string;
  readonly askedAtMs: number;
  /** The terms when it was asked, by owner: the number of edits that had returned. */
  readonly askedAfter: readonly number[];
  answeredAtMs: number | undefined;
  /** Whether the client knows that it was admitted, and whether anything of its answer may have reached it. */
  isAdmitted: boolean;
  isSafe: boolean;
  isRefused: boolean;
  /** What it holds at least, and at most if a growth was not answered. */
  leastNanos: bigint;
  mostNanos: bigint;
  /** What its hold covers. */
  outputTokens: number;
  /** What it is to cost, once its end was sent, and whether that was answered. */
  cost: bigint | undefined;
  isSettled: boolean;
  hasSlot: boolean;
  /** What it came to, once that can no longer change, and whether that counts as a request. */
  final: bigint | undefined;
  isCounted: boolean;
}

/** A row of the journal, as operators read it. */
export interface Told {
  readonly costNanos: bigint;
  readonly outputTokens: number;
  readonly isHeld: boolean;
}

/** What operators edit of a key, of the group that all keys are in, or of each of its end users. */
export interface Terms {
  readonly state: 'enabled' | 'disabled';
  readonly rpm: number;
  readonly concurrency: number;
  readonly allowlist: readonly string[] | null;
  /** What it may ever spend. */
  readonly totalNanos: bigint;
}

/** Something that bounds a request: whose terms it has, and which requests it counts. */
interface Level {
  readonly name: string;
  readonly owner: number;
  counts(seen: Seen): boolean;
}

export class Witness {
  readonly #requests: Seen[] = [];
  /** The terms of each key, then of the group, then of its end users: before and after each edit. */
  readonly #terms: Terms[][];
  readonly #keys: number;
  /** What requests of the first key have cost that it has not seen. */
  #past: readonly bigint[] = [];
  creditNanos = 0n;

  constructor(ofKey: Terms, keys: number, ofGroup: Terms, ofUser: Terms) {
    this.#keys = keys;
    this.#terms = [...Array.from({ length: keys }, () => [ofKey]), [ofGroup], [ofUser]];
  }

  hasPast(costs: readonly bigint[]): void {
    this.#past = costs;
    this.creditNanos -= costs.reduce((sum, each) => sum + each, 0n);
  }

  get open(): Seen[] {
    return this.#requests.filter((seen) => seen.isAdmitted && seen.final === undefined && seen.cost === undefined);
  }

  /** Ends that were sent and not answered. */
  get unsettled(): Seen[] {
    return this.#requests.filter(
      ({ cost, final, isSettled }) => cost !== undefined && final === undefined && !isSettled,
    );
  }

  ask(
    request: Pick<Seen, 'id' | 'worker' | 'key' | 'user' | 'model' | 'outputTokens'>,
    holdNanos: bigint,
    nowMs: number,
  ): Seen {
    const seen: Seen = {
      ...request,
      askedAtMs: nowMs,
      askedAfter: this.#terms.map((terms) => terms.length - 1),
      answeredAtMs: undefined,
      isAdmitted: false,
      isSafe: false,
      isRefused: false,
      isSettled: false,
      cost: undefined,
      final: undefined,
      isCounted: false,
      hasSlot: true,
      leastNanos: holdNanos,
      mostNanos: holdNanos,
    };
    this.#requests.push(seen);
    return seen;
  }

  /** An operator's edit has returned. */
  edited(owner: number, change: Partial<Terms>): void {
    const terms = this.#termsOf(owner);
    terms.push({ ...(terms.at(-1) as Terms), ...change });
  }

  /** An admission is answered: no limit may be passed with it, by terms that were in force since it was asked. */
  admitted(seen: Seen, nowMs: number): void {
    seen.answeredAtMs = nowMs;
    seen.isAdmitted = true;
    for (const level of this.#levelsOf(seen)) {
      const all = this.#requests.filter((each) => each.isAdmitted && level.counts(each));
      const recent = all.filter(({ askedAtMs }) => askedAtMs > nowMs - WINDOW_MS).length;
      const slots = all.filter(
        ({ hasSlot, cost, final }) => hasSlot && cost === undefined && final === undefined,
      ).length;
      const taken = this.#sum(level, (each) => (each === seen ? 0n : leastOf(each)));
      const permits = ({ state, rpm, concurrency, allowlist, totalNanos }: Terms) =>
        state === 'enabled' &&
        recent <= rpm &&
        slots <= concurrency &&
        (allowlist?.includes(seen.model) ?? true) &&
        taken < totalNanos;
      const terms = this.#inForce(level, seen);
      const why = `${recent} requests in a minute, ${slots} slots, ${taken} nanos of others, ${shown(terms)}`;
      assert.ok(terms.some(permits), `${seen.id} of ${level.name} is admitted: ${why}`);
    }
    const taken = this.#requests.reduce((sum, each) => sum + leastOf(each), 0n);
    assert.ok(taken <= this.creditNanos, `of ${this.creditNanos} nanos, ${taken} are spent or held`);
  }

  /** A refusal is answered: there must be a reason, by terms that were in force since it was asked. */
  refused(seen: Seen, { reason }: Refusal, nowMs: number): void {
    seen.answeredAtMs = nowMs;
    seen.isRefused = true;
    const others = this.#requests.filter((each) => each !== seen && !each.isRefused);
    const mostTaken = (all: readonly Seen[]) =>
      all.reduce((sum, { final, mostNanos }) => sum + (final ?? mostNanos), 0n);
    const isTooDear = mostTaken(others) + seen.leastNanos > this.creditNanos;
    const why: string[] = [];
    const isRight = this.#levelsOf(seen).some((level) => {
      const all = others.filter((each) => level.counts(each));
      const recent = all.filter(({ answeredAtMs = nowMs }) => answeredAtMs > nowMs - WINDOW_MS).length;
      const slots = all.filter(({ final, isSettled }) => final === undefined && !isSettled).length;
      const taken = mostTaken(all);
      const charged = this.#sum(level, (each) => each.final ?? each.cost ?? 0n);
      const reasons: Partial<Record<Refusal['reason'], (terms: Terms) => boolean>> = {
        key_disabled: ({ state }) => state === 'disabled',
        model_not_allowed: ({ allowlist }) => allowlist?.includes(seen.model) === false,
        requests_per_minute: ({ rpm }) => recent >= rpm,
        concurrency: ({ concurrency }) => slots >= concurrency,
        spend_limit_reached: ({ totalNanos }) => charged >= totalNanos,
        insufficient_credit: () => isTooDear,
        money_spoken_for: ({ totalNanos }) => isTooDear || taken >= totalNanos,
      };
      const terms = this.#inForce(level, seen);
      why.push(`${level.name}: at most ${recent} in a minute, ${slots} slots, ${taken} nanos, ${shown(terms)}`);
      return terms.some(reasons[reason] ?? (() => false));
    });
    assert.ok(isRight, `${seen.id} is refused, ${reason}: ${why.join('; ')}`);
  }

  /** What operators read of a level that others are booked to, after a recovery. */
  charged(owner: number, user: string | undefined, chargedNanos: bigint): void {
    const level = this.#level(owner, user);
    const nanos = this.#sum(level, ({ isCounted, final = 0n }) => (isCounted ? final : 0n));
    assert.equal(chargedNanos, nanos, `what ${level.name} has spent`);
  }

  /** What operators read of a key, and of its usage, after a recovery. */
  listed(key: number, record: KeyRecord | undefined, usage: UsageRow | undefined): void {
    const { state, rpm, concurrency, allowlist, budgets } = record ?? {};
    const totalNanos = budgets?.[0]?.limitNanos;
    const terms = { state, rpm, concurrency, allowlist, totalNanos };
    assert.deepEqual(terms, this.#termsOf(key).at(-1), `the terms of key ${key}`);
    const counted = this.#requests.filter((seen) => seen.key === key && seen.isCounted);
    const costs = [...(key === 0 ? this.#past : []), ...counted.map(({ final = 0n }) => final)];
    const sums = { requests: costs.length, costNanos: costs.reduce((sum, each) => sum + each, 0n) };
    const { requests, costNanos } = usage ?? { requests: 0, costNanos: 0n };
    assert.deepEqual({ requests, costNanos }, sums, `the usage of key ${key}`);
  }

  /**
   * A process has ended, and the next one has charged what it left open. `rows` are those of `undecided`; what was asked
   * before `droppedToMs` and whose end was sent may have none.
   */
  recovered(how: End, rows: ReadonlyMap<string, Told>, nowMs: number, droppedToMs: number): void {
    for (const seen of this.#requests) {
      if (seen.final !== undefined) continue;
      seen.answeredAtMs ??= nowMs;
      const told = rows.get(seen.id);
      const isDropped = told === undefined && mustLast(seen, how) && seen.askedAtMs < droppedToMs;
      seen.final = isDropped && seen.cost !== undefined ? seen.cost : finalOf(seen, how, told);
      seen.isCounted = told !== undefined || isDropped;
      // What is lost before anybody has seen of it has taken nothing.
      if (!seen.isCounted) seen.isAdmitted = false;
    }
  }

  /** What requests came to, in all. */
  get spentNanos(): bigint {
    return this.#requests.reduce((sum, { final = 0n }) => sum + final, 0n);
  }

  /** The requests whose rows are to be read. */
  get undecided(): string[] {
    return this.#requests.filter(({ final }) => final === undefined).map(({ id }) => id);
  }

  /** From inside out. */
  #levelsOf({ key, user }: Seen): Level[] {
    const ofUser = user === undefined ? [] : [this.#level(this.#keys + 1, user)];
    return [this.#level(key), ...ofUser, this.#level(this.#keys)];
  }

  #level(owner: number, user?: string): Level {
    if (user !== undefined) return { name: user, owner, counts: (seen) => seen.user === user };
    if (owner === this.#keys) return { name: 'the group', owner, counts: () => true };
    return { name: `key ${owner}`, owner, counts: ({ key }) => key === owner };
  }

  /** Of the requests of a level. What the first key has spent before counts for it alone. */
  #sum(level: Level, nanosOf: (seen: Seen) => bigint): bigint {
    const past = level.owner === 0 ? this.#past : [];
    const nanos = this.#requests.filter((each) => level.counts(each)).map(nanosOf);
    return [...past, ...nanos].reduce((sum, each) => sum + each, 0n);
  }

  #termsOf(owner: number): Terms[] {
    return this.#terms[owner] as Terms[];
  }

  #inForce({ owner }: Level, { askedAfter }: Seen): readonly Terms[] {
    return this.#termsOf(owner).slice(askedAfter[owner]);
  }
}

function shown(terms: readonly Terms[]): string {
  return JSON.stringify(terms, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** What a request has taken of the balance at least, as its client can know. */
function leastOf({ isAdmitted, final, cost, leastNanos }: Seen): bigint {
  return final ?? (isAdmitted ? (cost ?? leastNanos) : 0n);
}

/** Whether its client has seen so much of it that it must be known after such an end. */
function mustLast({ isSettled, isAdmitted, isSafe }: Seen, how: End): boolean {
  return isSettled || (how === 'kill' ? isAdmitted : isSafe);
}

function finalOf(seen: Seen, how: End, told: Told | undefined): bigint {
  const { id, cost, leastNanos, mostNanos, outputTokens } = seen;
  if (told === undefined) {
    assert.ok(!mustLast(seen, how), `${id} is lost by a ${how}: ${describe(seen)}`);
    return 0n;
  }
  const { costNanos, isHeld } = told;
  const isHold = !seen.isSettled && leastNanos <= costNanos && costNanos <= mostNanos;
  // A growth that was not answered may have come to pass or not.
  const isCovered = leastNanos !== mostNanos || told.outputTokens === outputTokens;
  const isRight = isHeld ? isHold && isCovered : costNanos === cost;
  assert.ok(isRight && !seen.isRefused, `${id} is charged ${costNanos}${isHeld ? ' as held' : ''}: ${describe(seen)}`);
  return costNanos;
}

function describe({ isRefused, isAdmitted, isSafe, isSettled, cost, leastNanos, mostNanos }: Seen): string {
  const begin = isRefused ? 'refused' : isSafe ? 'begun' : isAdmitted ? 'admitted' : 'asked';
  const end = cost === undefined ? 'its end was not sent' : `its end at ${cost} was ${isSettled ? 'answered' : 'sent'}`;
  return `it was ${begin}, with a hold of ${leastNanos} to ${mostNanos}, and ${end}`;
}
