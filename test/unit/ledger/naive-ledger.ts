/**
 * The simplest possible ledger, to compare the real one with: plain lists, added up for every
 * question, level by level.
 */

import { utcMonth } from '../../../src/core/clock.ts';
import type { RateFigures } from '../../../src/core/limits.ts';
import type { Settlement } from '../../../src/core/settlement.ts';
import type { AdmissionRequest, AtLevel, Grant, Growth, LedgerSettings, Refusal } from '../../../src/ledger/ledger.ts';
import type { LevelName } from '../../../src/state/levels.ts';
import { type NaiveBudget, type NaiveCharge, naiveReached, naiveRooms, naiveSpendRefusal } from './naive-budgets.ts';

const MINUTE_MS = 60_000;

interface OpenRequest {
  /** With what it holds now. */
  request: AdmissionRequest;
  hasSlot: boolean;
  readonly key: NaiveOwner;
  /** Those of its admission, with their terms of then. */
  readonly levels: readonly NaiveLevel[];
  readonly atMs: number;
  readonly month: string;
}

/** What was taken of a level. */
interface NaiveUse {
  /** When its requests were admitted. */
  readonly requestsAtMs: number[];
  readonly tokens: { readonly atMs: number; readonly tokens: number }[];
  readonly charges: NaiveCharge[];
}

/** Infinite where there is no limit. */
export interface NaiveTerms {
  rpm: number;
  tpm: number;
  concurrency: number;
  spendLimitNanos: bigint | null;
  budgets: readonly NaiveBudget[];
}

interface NaiveLevel extends NaiveTerms {
  readonly name: LevelName;
  state: 'enabled' | 'disabled' | 'deleted';
  allowlist: readonly string[] | null;
  expiresAtMs: number | null;
  readonly use: NaiveUse;
  /** Of an end user. */
  readonly user?: { readonly owner: NaiveOwner; readonly name: string };
}

/** A key or a group. */
export interface NaiveOwner extends NaiveLevel {
  /** The group or the key that it is in. */
  outer: NaiveOwner | undefined;
  /** What each of its end users may do; null if they are no levels. */
  ofUsers: (NaiveTerms & { readonly required: boolean }) | null;
  /** What is set for single ones. */
  readonly ownOfUsers: Map<string, NaiveTerms & { readonly state: 'enabled' | 'disabled' }>;
  readonly usesOfUsers: Map<string, NaiveUse>;
}

export const UNLIMITED: NaiveTerms = {
  rpm: Number.POSITIVE_INFINITY,
  tpm: Number.POSITIVE_INFINITY,
  concurrency: Number.POSITIVE_INFINITY,
  spendLimitNanos: null,
  budgets: [],
};

const nothingUsed = (): NaiveUse => ({ requestsAtMs: [], tokens: [], charges: [] });

export function newNaiveOwner(name: LevelName, terms: NaiveTerms, outer?: NaiveOwner): NaiveOwner {
  return {
    name,
    state: 'enabled',
    allowlist: null,
    expiresAtMs: null,
    ...terms,
    use: nothingUsed(),
    outer,
    ofUsers: null,
    ownOfUsers: new Map(),
    usesOfUsers: new Map(),
  };
}

/** An end user as a level; undefined if those of its owner are none. */
export function naiveUser(owner: NaiveOwner, name: string): NaiveLevel | undefined {
  const { ofUsers: all, ownOfUsers, usesOfUsers } = owner;
  if (all === null) return undefined;
  const own = ownOfUsers.get(name) ?? { ...UNLIMITED, state: 'enabled' };
  const use = usesOfUsers.get(name) ?? nothingUsed();
  usesOfUsers.set(name, use);
  const isLimited = (limit: number) => limit !== Number.POSITIVE_INFINITY;
  const set = [
    ...(['rpm', 'tpm', 'concurrency'] as const).filter((name) => isLimited(own[name])),
    ...(own.spendLimitNanos === null ? [] : ['spend_limit']),
    ...own.budgets.map(({ period }) => period),
  ].toSorted();
  const others = all.budgets.filter(({ period }) => !own.budgets.some((budget) => budget.period === period));
  return {
    name: { kind: 'user', name: owner.name.name, of: owner.name.kind === 'group' ? 'group' : 'key', own: set },
    state: own.state,
    allowlist: null,
    expiresAtMs: null,
    rpm: isLimited(own.rpm) ? own.rpm : all.rpm,
    tpm: isLimited(own.tpm) ? own.tpm : all.tpm,
    concurrency: isLimited(own.concurrency) ? own.concurrency : all.concurrency,
    spendLimitNanos: own.spendLimitNanos ?? all.spendLimitNanos,
    budgets: [...own.budgets, ...others],
    use,
    user: { owner, name },
  };
}

/** What bounds a request, from inside out. */
export function naiveChain(key: NaiveOwner, user: string | undefined): NaiveLevel[] {
  const chain: NaiveLevel[] = [];
  for (let owner: NaiveOwner | undefined = key; owner !== undefined; owner = owner.outer) {
    const ofOwner = user === undefined ? undefined : naiveUser(owner, user);
    chain.push(...(ofOwner === undefined ? [owner] : [ofOwner, owner]));
  }
  return chain;
}

/** What counts of a level's budgets for a request that was admitted at `atMs`. */
export function roomsOf(level: NaiveLevel, open: readonly OpenRequest[], atMs: number, nowMs: number) {
  return naiveRooms({ budgets: level.budgets, charges: level.use.charges }, open, atMs, nowMs);
}

export class NaiveLedger {
  readonly options: LedgerSettings;
  balanceNanos = 0n;
  open: OpenRequest[] = [];

  constructor(options: LedgerSettings) {
    this.options = options;
  }

  /** The refusal of a request at that moment, without admitting it. */
  refusalOf(key: NaiveOwner, request: AdmissionRequest, nowMs: number): Refusal | undefined {
    const levels = naiveChain(key, request.user);
    const { model, user, holdNanos } = request;
    const keyName = key.name.name;
    if (this.isGone(key, nowMs)) return { reason: 'unknown_key' };
    // Only the body may name the end user: after what else it says.
    const off = (ofUsers: boolean) =>
      levels.find(({ state, name }) => state !== 'enabled' && (name.kind === 'user') === ofUsers);
    const disabled = off(false);
    if (disabled !== undefined) return { reason: 'key_disabled', ...at(disabled, key) };
    const without = levels.find(({ allowlist }) => allowlist !== null && !allowlist.includes(model));
    if (without !== undefined) return { reason: 'model_not_allowed', ...at(without, key) };
    const blocked = off(true);
    if (blocked !== undefined) return { reason: 'key_disabled', ...at(blocked, key) };
    const asking = levels.find((level) => (level as Partial<NaiveOwner>).ofUsers?.required);
    if (user === undefined && asking !== undefined) return { reason: 'user_required', ...at(asking, key) };
    const month = utcMonth(nowMs);
    const reached = levels.flatMap((level) => {
      const rooms = roomsOf(level, [], nowMs, nowMs);
      const charged = this.#charged(level, month);
      return naiveReached(level.spendLimitNanos, charged, nowMs, rooms, ({ left }) => left <= 0n, {
        ...at(level, key),
        keyName,
      });
    });
    const spent = naiveSpendRefusal(reached);
    if (spent !== undefined) return spent;
    const paid = this.options.creditEnforced && holdNanos > 0n;
    if (paid && this.balanceNanos < holdNanos) {
      return { reason: 'insufficient_credit', keyName, balanceNanos: this.balanceNanos };
    }
    const tooSmall = levels.find(({ tpm }) => request.reservedTokens > tpm);
    if (tooSmall !== undefined) {
      return { reason: 'larger_than_token_limit', limit: tooSmall.tpm, ...at(tooSmall, key) };
    }
    const waits = levels.flatMap((level) =>
      this.#waitsFor(level, request, nowMs).map((wait) => ({ ...wait, ...at(level, key) })),
    );
    if (paid && this.balanceNanos - holds(this.open) < holdNanos) {
      waits.push({ reason: 'money_spoken_for', retryAfterS: 1 });
    }
    const [first] = WAITS.flatMap((reason) => waits.filter((wait) => wait.reason === reason));
    const longest = Math.max(...waits.map(({ retryAfterS }) => retryAfterS));
    return first && ({ ...first, retryAfterS: longest } as Refusal);
  }

  /** Which limits of a level have no room, and for how long. */
  #waitsFor(level: NaiveLevel, { reservedTokens }: AdmissionRequest, nowMs: number): Wait[] {
    const mine = this.#openOf(level);
    const requestsFit = (atMs: number) => requests(level, atMs) + 1 <= level.rpm;
    const tokensFit = (used: number) => used + reservedTokens <= level.tpm;
    const waits: Wait[] = [];
    if (!requestsFit(nowMs)) {
      const retryAfterS = leastSeconds((seconds) => requestsFit(nowMs + seconds * 1_000));
      waits.push({ reason: 'requests_per_minute', limit: level.rpm, retryAfterS });
    }
    if (!tokensFit(tokens(level, nowMs) + reserved(mine))) {
      const retryAfterS = leastSeconds((seconds) => {
        const atMs = nowMs + seconds * 1_000;
        return tokensFit(tokens(level, atMs) + reserved(mine.filter((open) => open.atMs + MINUTE_MS > atMs)));
      });
      waits.push({ reason: 'tokens_per_minute', limit: level.tpm, retryAfterS });
    }
    if (slots(mine) >= level.concurrency) {
      waits.push({ reason: 'concurrency', limit: level.concurrency, retryAfterS: 1 });
    }
    const month = utcMonth(nowMs);
    const held = holds(mine.filter((open) => open.month === month));
    const { spendLimitNanos } = level;
    const limitIsSpokenFor =
      spendLimitNanos !== null && held > 0n && this.#charged(level, month) + held >= spendLimitNanos;
    const budgetIsSpokenFor = roomsOf(level, mine, nowMs, nowMs).some(
      (room) => room.held > 0n && room.left <= room.held,
    );
    if (limitIsSpokenFor || budgetIsSpokenFor) waits.push({ reason: 'money_spoken_for', retryAfterS: 1 });
    return waits;
  }

  admit(key: NaiveOwner, request: AdmissionRequest, nowMs: number): Refusal | undefined {
    const refusal = this.refusalOf(key, request, nowMs);
    if (refusal !== undefined) return refusal;
    const levels = naiveChain(key, request.user);
    this.open.push({ request, hasSlot: true, key, levels, atMs: nowMs, month: utcMonth(nowMs) });
    for (const { use } of levels) use.requestsAtMs.push(nowMs);
    return undefined;
  }

  grow({ requestId, outputTokens, holdNanos }: Growth, nowMs: number): Grant {
    const open = this.#find(requestId);
    const { key, month, request, atMs } = open;
    const keyName = key.name.name;
    const wanted = holdNanos - request.holdNanos;
    const left: bigint[] = [];
    const reached = current(open).flatMap((level) => {
      const mine = this.#openOf(level);
      const { spendLimitNanos } = level;
      const ofMonth = holds(mine.filter((other) => other.month === month));
      const ofLimit = spendLimitNanos === null ? undefined : spendLimitNanos - this.#charged(level, month) - ofMonth;
      const rooms = roomsOf(level, mine, atMs, nowMs);
      left.push(...(ofLimit === undefined ? [] : [ofLimit]), ...rooms.map((room) => room.left - room.held));
      const limit = ofLimit !== undefined && ofLimit <= 0n ? spendLimitNanos : null;
      return naiveReached(limit, limit ?? 0n, atMs, rooms, (room) => room.left <= room.held, {
        ...at(level, key),
        keyName,
      });
    });
    if (this.options.creditEnforced) left.push(this.balanceNanos - holds(this.open));
    const least = (amounts: readonly bigint[]) => amounts.reduce((a, b) => (a < b ? a : b));
    const granted = wanted === 0n ? 0n : least([wanted, ...left]);
    if (wanted > 0n && granted <= 0n) {
      const noCredit = { reason: 'insufficient_credit', keyName, balanceNanos: this.balanceNanos } as const;
      return { granted: false, refusal: naiveSpendRefusal(reached) ?? noCredit };
    }
    const moreTokens = Math.max(0, outputTokens - request.outputTokens);
    const tokens = wanted === 0n ? moreTokens : Number((BigInt(moreTokens) * granted) / wanted);
    const holdNow = request.holdNanos + granted;
    const reservedTokens = request.reservedTokens + (request.reservedTokens > request.inputTokens ? tokens : 0);
    open.request = { ...request, reservedTokens, outputTokens: request.outputTokens + tokens, holdNanos: holdNow };
    return { granted: true, holdNanos: holdNow, leftNanos: left.length === 0 ? undefined : least(left) - granted };
  }

  freeSlot(requestId: string): void {
    this.#find(requestId).hasSlot = false;
  }

  #find(requestId: string): OpenRequest {
    return this.open.find((open) => open.request.requestId === requestId) as OpenRequest;
  }

  /** Returns the figures of the levels that it was admitted by, and that still exist. */
  settle(settlement: Pick<Settlement, 'requestId' | 'usage' | 'costNanos'>, nowMs: number): RateFigures {
    const ended = this.#find(settlement.requestId);
    this.open = this.open.filter((open) => open !== ended);
    const { levels, month, atMs } = ended;
    const tokens = settlement.usage.promptTokens + settlement.usage.completionTokens;
    for (const { use } of levels) {
      use.tokens.push({ atMs: nowMs, tokens });
      use.charges.push({ month, atMs, endedAtMs: nowMs, nanos: settlement.costNanos });
    }
    this.balanceNanos -= settlement.costNanos;
    return this.figures(current(ended), nowMs);
  }

  /** What a restart does with the requests that a crash left open. */
  recover(nowMs: number): void {
    for (const { request } of this.open) {
      const { requestId, inputTokens, outputTokens, holdNanos } = request;
      const usage = { promptTokens: inputTokens, cachedTokens: 0, completionTokens: outputTokens };
      this.settle({ requestId, usage, costNanos: holdNanos }, nowMs);
    }
  }

  /** Whether a key, or one that has made it, is deleted or has expired. */
  isGone(key: NaiveOwner, nowMs: number): boolean {
    return naiveChain(key, undefined).some(
      ({ name, state, expiresAtMs }) =>
        name.kind === 'key' && (state === 'deleted' || (expiresAtMs !== null && expiresAtMs <= nowMs)),
    );
  }

  #charged({ use }: NaiveLevel, month: string): bigint {
    return use.charges.reduce((total, charge) => total + (charge.month === month ? charge.nanos : 0n), 0n);
  }

  /** Of requests and of tokens those of the level with the least left; of equals the innermost. */
  figures(levels: readonly NaiveLevel[], nowMs: number): RateFigures {
    const all = levels.map((level) => this.#figuresOf(level, nowMs));
    const leastOf = (name: 'remainingRequests' | 'remainingTokens') => {
      const least = Math.min(...all.map((figures) => figures[name]));
      return all.find((figures) => figures[name] === least) as RateFigures;
    };
    const { limitTokens, remainingTokens, resetTokensS } = leastOf('remainingTokens');
    return { ...leastOf('remainingRequests'), limitTokens, remainingTokens, resetTokensS };
  }

  #figuresOf(level: NaiveLevel, nowMs: number): RateFigures {
    const mine = this.#openOf(level);
    const usedRequests = requests(level, nowMs);
    const usedTokens = tokens(level, nowMs) + reserved(mine);
    const openEnd = mine.map((open) => open.atMs + MINUTE_MS);
    const tokenEnd = level.use.tokens.filter((entry) => entry.tokens > 0).map((entry) => entry.atMs + MINUTE_MS);
    const requestEnd = level.use.requestsAtMs.map((atMs) => atMs + MINUTE_MS);
    const reset = (used: number, ends: number[]) =>
      used === 0 ? 0 : Math.max(1, Math.ceil((Math.max(...ends) - nowMs) / 1_000));
    return {
      limitRequests: level.rpm,
      remainingRequests: Math.max(0, level.rpm - usedRequests),
      resetRequestsS: reset(usedRequests, requestEnd),
      limitTokens: level.tpm,
      remainingTokens: Math.max(0, level.tpm - usedTokens),
      resetTokensS: reset(usedTokens, [...openEnd, ...tokenEnd]),
    };
  }

  /** Requests that a key may have in flight besides those that are, by all levels. */
  freeSlots(key: NaiveOwner): number {
    const free = naiveChain(key, undefined).map((level) => level.concurrency - slots(this.#openOf(level)));
    return Math.max(0, Math.min(...free));
  }

  #openOf({ use }: NaiveLevel): OpenRequest[] {
    return this.open.filter((open) => open.levels.some((level) => level.use === use));
  }
}

interface Wait extends AtLevel {
  readonly reason: (typeof WAITS)[number];
  readonly limit?: number;
  readonly retryAfterS: number;
}

/** In the order in which they are looked at. */
const WAITS = ['requests_per_minute', 'tokens_per_minute', 'concurrency', 'money_spoken_for'] as const;

/** How a refusal names a level of a request of that key. */
function at(level: NaiveLevel, key: NaiveOwner): AtLevel {
  return level === key ? {} : { level: level.name };
}

/** The levels that a request was admitted by, with their terms of now, where they are still levels. */
function current({ levels }: OpenRequest): NaiveLevel[] {
  return levels.flatMap((level) => {
    if (level.user === undefined) return [level];
    return naiveUser(level.user.owner, level.user.name) ?? [];
  });
}

function requests({ use }: NaiveLevel, nowMs: number): number {
  return use.requestsAtMs.filter((atMs) => atMs + MINUTE_MS > nowMs).length;
}

function tokens({ use }: NaiveLevel, nowMs: number): number {
  return sum(use.tokens.filter(({ atMs }) => atMs + MINUTE_MS > nowMs).map(({ tokens }) => tokens));
}

function reserved(open: readonly OpenRequest[]): number {
  return sum(open.map(({ request }) => request.reservedTokens));
}

function slots(open: readonly OpenRequest[]): number {
  return open.filter(({ hasSlot }) => hasSlot).length;
}

function leastSeconds(fits: (seconds: number) => boolean): number {
  for (let seconds = 1; seconds <= 60; seconds++) if (fits(seconds)) return seconds;
  throw new Error('a minute is not enough');
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function holds(open: readonly OpenRequest[]): bigint {
  return open.reduce((total, { request }) => total + request.holdNanos, 0n);
}
