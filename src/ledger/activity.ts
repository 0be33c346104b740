/** What one key is doing: its windows, and the leases of its requests under way. In memory only. */
import type { Limits, RateFigures } from '../core/limits.ts';
import type { Nanos } from '../core/money.ts';
import type { HoldRow } from '../state/journal.ts';
import { type Leaving, SlidingWindow, secondsUntil, WINDOW_MS } from './window.ts';

/** What admission handed out: a slot, tokens and a hold. */
export interface Lease {
  readonly hold: HoldRow;
  readonly reservedTokens: number;
  /** The month that the charge will count in. */
  readonly month: string;
  readonly admittedMonotonicMs: number;
}

export class Activity {
  readonly requests = new SlidingWindow();
  /** Tokens of settled requests, dated at their settlement. Those of open leases are `openTokens`. */
  readonly tokens = new SlidingWindow();
  readonly listings = new SlidingWindow();
  /** In order of admission. */
  readonly #leases = new Map<string, Lease>();
  #openTokens = 0;
  /** When the newest open lease was admitted; undefined where that has to be looked up. */
  #newestAdmittedMs: number | undefined;

  get openRequests(): number {
    return this.#leases.size;
  }

  open(lease: Lease): void {
    this.#leases.set(lease.hold.requestId, lease);
    this.#openTokens += lease.reservedTokens;
    // Nothing is admitted before what is open already, but a lease that comes back may be older than others.
    const newest = this.#leases.size === 1 ? lease.admittedMonotonicMs : this.#newestAdmittedMs;
    this.#newestAdmittedMs = newest === undefined ? undefined : Math.max(newest, lease.admittedMonotonicMs);
  }

  end(lease: Lease): void {
    if (!this.#leases.delete(lease.hold.requestId)) return;
    this.#openTokens -= lease.reservedTokens;
    if (lease.admittedMonotonicMs === this.#newestAdmittedMs) this.#newestAdmittedMs = undefined;
  }

  /** Tokens of the last minute, and those that open leases reserve. */
  tokensUsed(nowMs: number): number {
    return this.tokens.total(nowMs) + this.#openTokens;
  }

  /** What the open leases of that month hold. */
  heldIn(month: string): Nanos {
    let held = 0n;
    for (const lease of this.#leases.values()) if (lease.month === month) held += lease.hold.holdNanos;
    return held;
  }

  /** When the open reservations leave, if each is taken to end 60 s after its admission. */
  *leavingReservations(): Generator<Leaving> {
    // A settlement that could not be written has put its lease back behind newer ones.
    const leases = [...this.#leases.values()].sort((a, b) => a.admittedMonotonicMs - b.admittedMonotonicMs);
    for (const lease of leases) {
      yield { atMs: lease.admittedMonotonicMs + WINDOW_MS, weight: lease.reservedTokens };
    }
  }

  /** The figures of the request and token windows; `listing` shows the window of model listings instead of requests. */
  figures(limits: Limits, nowMs: number, listing = false): RateFigures {
    const window = listing ? this.listings : this.requests;
    const limitRequests = listing ? limits.modelsRpm : limits.rpm;
    const usedRequests = window.total(nowMs);
    const usedTokens = this.tokensUsed(nowMs);
    return {
      limitRequests,
      remainingRequests: Math.max(0, limitRequests - usedRequests),
      resetRequestsS: usedRequests === 0 ? 0 : secondsUntil(window.emptyAtMs() ?? nowMs, nowMs),
      limitTokens: limits.tpm,
      remainingTokens: Math.max(0, limits.tpm - usedTokens),
      resetTokensS: usedTokens === 0 ? 0 : secondsUntil(this.#tokensEmptyAtMs(nowMs), nowMs),
    };
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

/** The figures of a sender that is not known: the default limits, with nothing used. */
export function untouchedFigures(limits: Limits, listing = false): RateFigures {
  const limitRequests = listing ? limits.modelsRpm : limits.rpm;
  return {
    limitRequests,
    remainingRequests: limitRequests,
    resetRequestsS: 0,
    limitTokens: limits.tpm,
    remainingTokens: limits.tpm,
    resetTokensS: 0,
  };
}
