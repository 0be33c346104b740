/** Reads and fills the sliding windows of budgets. */
import { stepMs, stepOf } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import type { KeyRecord } from './keys.ts';

export type BudgetedKey = Pick<KeyRecord, 'id' | 'budgets'>;

/** Requests longer than this are indexed by their end in `journal_of_long_requests`. */
const LONG_MS = 300_000;

/**
 * Selects journal rows that ended at or after a time, without an index by end, which would slow down every request. Short
 * requests were admitted at most `LONG_MS` before their end, so the index by admission finds them; long requests are few
 * and have their own index.
 */
export function endedSince(columns: string, journal: string, since: string): string {
  return `SELECT ${columns} FROM ${journal} WHERE admitted_at_ms >= ${since} - ${LONG_MS} AND settled_at_ms >= ${since}
      AND settled_at_ms - admitted_at_ms <= ${LONG_MS}
    UNION ALL SELECT ${columns} FROM ${journal} WHERE settled_at_ms - admitted_at_ms > ${LONG_MS} AND settled_at_ms >= ${since}`;
}

/** The time from which the steps of a window are exact if it was filled with sums by day. */
export function exactAfterMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) + stepMs(windowS);
}

/** The cost of one step, by its beginning. */
export type Step = readonly [atMs: number, nanos: Nanos];
