/** The activity of one level, in memory only: its windows and open leases. */
import { DAY_MS, utcMonth } from '../../core/clock.ts';
import { IdTable } from '../../core/id-table.ts';
import { invariant } from '../../core/invariant.ts';
import type { Limits, RateFigures } from '../../core/limits.ts';
import type { Nanos } from '../../core/money.ts';
import type { HoldRow } from '../../state/journal.ts';
import { limitOf, type RequestWindow } from '../figures.ts';
import { type Leaving, SlidingWindow, secondsUntil, WINDOW_MS } from './window.ts';

/** The resources granted by admission: a slot, tokens and a hold. */
export interface Lease {
  readonly hold: HoldRow;
  readonly reservedTokens: number;
  /** The month in which the charge will count, such as `2026-11`. */
  readonly month: string;
  readonly admittedMonotonicMs: number;
  /** False after the client has disconnected, even if the request is not settled yet. */
  readonly hasSlot: boolean;
}

type RequestFigures = Pick<RateFigures, 'limitRequests' | 'remainingRequests' | 'resetRequestsS'>;
type TokenFigures = Omit<RateFigures, keyof RequestFigures>;

/** Shared by all levels without a request since the start, which are most. Always empty. */
const NO_LEASES = new IdTable<Lease>();
const NO_HOLDS = new Map<number, Nanos>();

export class Activity {
  readonly requests = new SlidingWindow();
  /** Tokens of settled requests, at their settlement time. Tokens of open leases are in `#openTokens`. */
  readonly tokens = new SlidingWindow();
  /** Created on first use: most levels never list models. */
  #listings: SlidingWindow | undefined;
  /** Number of token counts in flight. */
  counts = 0;
  #leases = NO_LEASES;
  /** The sum of holds by the day of admission: days since 1970, UTC. */
  #heldOn = NO_HOLDS;
  #openTokens = 0;
  #slots = 0;
  /** Admission time of the newest open lease; undefined if it must be searched. */
  #newestAdmittedMs: number | undefined;

  get listings(): SlidingWindow {
    this.#listings ??= new SlidingWindow();
    return this.#listings;
  }

  /** Number of listings in the last minute. */
  listed(nowMs: number): number {
    return this.#listings?.total(nowMs) ?? 0;
  }

  get openRequests(): number {
    return this.#leases.size;
  }

  /** Number of occupied slots. */
  get slots(): number {
    return this.#slots + this.counts;
  }

  /** Whether it has no window entries and no open requests. */
  isIdle(nowMs: number): boolean {
    if (this.openRequests > 0 || this.counts > 0) return false;
    return this.requests.isEmpty(nowMs) && this.tokens.isEmpty(nowMs) && this.#listings?.isEmpty(nowMs) !== false;
  }

  open(lease: Lease): void {
    const { requestId } = lease.hold;
    if (this.#leases === NO_LEASES) [this.#leases, this.#heldOn] = [new IdTable(), new Map()];
    invariant(this.#leases.add(requestId, lease), () => `request ${requestId} opens a second lease`);
    this.#hold(lease.hold, lease.hold.holdNanos);
    this.#openTokens += lease.reservedTokens;
    this.#slots += Number(lease.hasSlot);
    // A new lease is the newest. A lease restored by a rollback may not be.
    const newest = this.#leases.size === 1 ? lease.admittedMonotonicMs : this.#newestAdmittedMs;
    this.#newestAdmittedMs = newest === undefined ? undefined : Math.max(newest, lease.admittedMonotonicMs);
  }

  end(lease: Lease): void {
    const { requestId } = lease.hold;
    invariant(this.#leases.remove(requestId) === lease, () => `request ${requestId} ends a lease that is not open`);
    if (this.#leases.size === 0) this.#heldOn.clear();
    else this.#hold(lease.hold, -lease.hold.holdNanos);
    this.#openTokens -= lease.reservedTokens;
    this.#slots -= Number(lease.hasSlot);
    invariant(
      this.#leases.size > 0 ? this.#openTokens >= 0 : this.#openTokens === 0,
      () => `${this.#leases.size} open leases reserve ${this.#openTokens} tokens after that of ${requestId} has ended`,
    );
    if (lease.admittedMonotonicMs === this.#newestAdmittedMs) this.#newestAdmittedMs = undefined;
  }

  /** Replaces an open lease after a growth or the release of its slot. */
  replace(before: Lease, after: Lease): void {
    const { requestId } = before.hold;
    invariant(this.#leases.get(requestId) === before, () => `request ${requestId} changes a lease that is not open`);
    this.#leases.replace(requestId, after);
    this.#hold(after.hold, after.hold.holdNanos - before.hold.holdNanos);
    this.#slots += Number(after.hasSlot) - Number(before.hasSlot);
    this.#openTokens += after.reservedTokens - before.reservedTokens;
  }

  /** Tokens of the last minute, plus tokens reserved by open leases. */
  tokensUsed(nowMs: number): number {
    return this.tokens.total(nowMs) + this.#openTokens;
  }

  /** The sum of the holds of leases opened in the month. */
  heldIn(month: string): Nanos {
    return this.#heldWhere((day) => utcMonth(day * DAY_MS) === month);
  }

  /** The sum of the holds of leases opened on days in [fromMs, toMs); of all leases by default. */
  heldBetween(fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY): Nanos {
    return this.#heldWhere((day) => fromMs <= day * DAY_MS && day * DAY_MS < toMs);
  }

  /** The times at which reserved tokens leave the window, if each lease ends 60 s after its admission. */
  *leavingReservations(): Generator<Leaving> {
    // A rollback of a settlement appends its lease after newer ones.
    const leases = [...this.#leases.values()].sort((a, b) => a.admittedMonotonicMs - b.admittedMonotonicMs);
    for (const lease of leases) {
      yield { atMs: lease.admittedMonotonicMs + WINDOW_MS, weight: lease.reservedTokens };
    }
  }

  /** The figures of a request window. */
  requestFigures(name: RequestWindow, limits: Limits, nowMs: number): RequestFigures {
    const window = this[name];
    const limitRequests = limitOf(name, limits);
    const usedRequests = window.total(nowMs);
    return {
      limitRequests,
      remainingRequests: Math.max(0, limitRequests - usedRequests),
      resetRequestsS: usedRequests === 0 ? 0 : secondsUntil(window.emptyAtMs() ?? nowMs, nowMs),
    };
  }

  /** The figures of the token window. */
  tokenFigures(limits: Limits, nowMs: number): TokenFigures {
    const usedTokens = this.tokensUsed(nowMs);
    return {
      limitTokens: limits.tpm,
      remainingTokens: Math.max(0, limits.tpm - usedTokens),
      resetTokensS: usedTokens === 0 ? 0 : secondsUntil(this.#tokensEmptyAtMs(nowMs), nowMs),
    };
  }

  /** The figures of a request window and of the token window. */
  figures(name: RequestWindow, limits: Limits, nowMs: number): RateFigures {
    const { limitTokens, remainingTokens, resetTokensS } = this.tokenFigures(limits, nowMs);
    return { ...this.requestFigures(name, limits, nowMs), limitTokens, remainingTokens, resetTokensS };
  }

  #hold({ admittedAtMs }: HoldRow, nanos: Nanos): void {
    const day = Math.floor(admittedAtMs / DAY_MS);
    this.#heldOn.set(day, (this.#heldOn.get(day) ?? 0n) + nanos);
  }

  #heldWhere(counts: (day: number) => boolean): Nanos {
    let held = 0n;
    for (const [day, nanos] of this.#heldOn) if (counts(day)) held += nanos;
    return held;
  }

  #tokensEmptyAtMs(nowMs: number): number {
    const settledLeaveMs = this.tokens.emptyAtMs() ?? nowMs;
    if (this.#leases.size === 0) return settledLeaveMs;
    if (this.#newestAdmittedMs === undefined) {
      let newest = Number.NEGATIVE_INFINITY;
      for (const lease of this.#leases.values()) newest = Math.max(newest, lease.admittedMonotonicMs);
      this.#newestAdmittedMs = newest;
    }
    return Math.max(settledLeaveMs, this.#newestAdmittedMs + WINDOW_MS);
  }
}
