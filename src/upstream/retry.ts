/** When a request may be tried again, and how often. Pure. */
import type { RetryPolicy } from '../core/settings.ts';

/** The statuses with which an upstream says that it has not taken the request on. */
const REFUSALS: ReadonlySet<number> = new Set([429, 503, 529]);

/** True where the upstream refused outright: it has not worked, so the request may go elsewhere. */
export function isRejection(status: number): boolean {
  return REFUSALS.has(status);
}

/** Retries that are saved up, so that a gateway with few requests has some at all. */
export const MOST_SAVED = 10;
/** Retries that come by themselves each second, for the same reason. */
const SAVED_PER_SECOND = 1;

/**
 * What is left for retries. However long an outage lasts, the upstreams get `1 + budget` times the requests, one a second
 * more, and ten once.
 */
export interface RetryBudget {
  readonly saved: number;
  /** Milliseconds of a monotonic clock. */
  readonly atMs: number;
}

export function fullBudget(nowMs: number): RetryBudget {
  return { saved: MOST_SAVED, atMs: nowMs };
}

/** A request has come in. */
export function onRequest(budget: RetryBudget, { budget: share }: RetryPolicy, nowMs: number): RetryBudget {
  const earned = share + (Math.max(0, nowMs - budget.atMs) / 1000) * SAVED_PER_SECOND;
  return { saved: Math.min(MOST_SAVED, budget.saved + earned), atMs: Math.max(nowMs, budget.atMs) };
}

/** The budget after one more retry, or undefined where there is none left for it. */
export function onRetry(budget: RetryBudget, policy: RetryPolicy): RetryBudget | undefined {
  if (policy.budget === 0 || budget.saved < 1) return undefined;
  return { ...budget, saved: budget.saved - 1 };
}

/** The longest rest that an upstream is given at its own word, in milliseconds. */
export const MAX_REST_MS = 3_600_000;

/** `Retry-After`, as seconds or as a date, in milliseconds from now; undefined where it is neither. `nowMs` since 1970. */
export function restOf(retryAfter: string | undefined, nowMs: number): number | undefined {
  if (retryAfter === undefined) return undefined;
  const text = retryAfter.trim();
  // Date.parse would take "7" for a month.
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : /[a-z]/i.test(text) ? Date.parse(text) - nowMs : NaN;
  if (Number.isNaN(ms) || ms <= 0) return undefined;
  return Math.min(ms, MAX_REST_MS);
}
