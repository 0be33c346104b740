/** Decides which rejections may be retried, how many retries are allowed, and how long an upstream backs off. Pure. */
import type { RetryPolicy } from '../core/settings.ts';

/** Statuses with which an upstream rejects a request before doing any work. */
const REJECTIONS: ReadonlySet<number> = new Set([429, 503, 529]);

/** True if the upstream rejected the request: it did no work, so the request may be retried. */
export function isRejection(status: number): boolean {
  return REJECTIONS.has(status);
}

/** Maximum of saved retries, so that a gateway with few requests has some. */
export const MAX_SAVED_RETRIES = 10;
/** Retries earned per second, for the same reason. */
const EARNED_PER_SECOND = 1;

/**
 * The retry budget. Regardless of the length of an outage, the upstreams get at most `1 + budget` times the requests, plus
 * one retry per second, plus ten once.
 */
export interface RetryBudget {
  readonly saved: number;
  /** Milliseconds of a monotonic clock. */
  readonly atMs: number;
}

export function fullBudget(nowMs: number): RetryBudget {
  return { saved: MAX_SAVED_RETRIES, atMs: nowMs };
}

/** The budget after a new request, which earns its share of a retry. */
export function onRequest(budget: RetryBudget, { budget: share }: RetryPolicy, nowMs: number): RetryBudget {
  const earned = share + (Math.max(0, nowMs - budget.atMs) / 1000) * EARNED_PER_SECOND;
  return { saved: Math.min(MAX_SAVED_RETRIES, budget.saved + earned), atMs: Math.max(nowMs, budget.atMs) };
}

/** The budget after one more retry; undefined if it is used up. */
export function onRetry(budget: RetryBudget, policy: RetryPolicy): RetryBudget | undefined {
  if (policy.budget === 0 || budget.saved < 1) return undefined;
  return { ...budget, saved: budget.saved - 1 };
}

/** Maximum backoff that an upstream can request, in milliseconds. */
export const MAX_BACKOFF_MS = 3_600_000;

/** A wait in milliseconds, such as `20` or `1500.5`. */
const WAIT_MS = /^\d{1,12}(?:\.\d+)?$/;

/** The requested wait in the format of `Retry-After`. OpenAI and Azure also send `retry-after-ms`, which is more precise. */
export function retryAfterOf(header: string | undefined, headerMs: string | undefined): string | undefined {
  const text = headerMs?.trim() ?? '';
  const ms = WAIT_MS.test(text) ? Math.ceil(Number(text)) : 0;
  return ms > 0 ? String(ms / 1000) : header;
}

/**
 * `Retry-After` in milliseconds from now, given in seconds or as a date; undefined if it is invalid or not in the future.
 * `nowMs`: since 1970.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  // Date.parse would read "7" as a month.
  const ms = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : /[a-z]/i.test(text) ? Date.parse(text) - nowMs : NaN;
  if (Number.isNaN(ms) || ms <= 0) return undefined;
  return Math.min(ms, MAX_BACKOFF_MS);
}
