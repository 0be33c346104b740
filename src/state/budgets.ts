/** How sliding windows of budgets are read and filled. */
import { stepMs, stepOf } from '../core/budgets.ts';
import type { Nanos } from '../core/money.ts';
import type { KeyRecord } from './keys.ts';

export type BudgetedKey = Pick<KeyRecord, 'id' | 'budgets'>;

/** Requests that took longer than this have an index of their own, `journal_of_long_requests`, by their end. */
const LONG_MS = 300_000;

/**
 * Selects the rows of the journal that ended then or later. An index by their end would cost every request: these were
 * admitted then, or a little before it, or they took so long that there are few of them.
 */
export function endedSince(columns: string, journal: string, since: string): string {
  return `SELECT ${columns} FROM ${journal} WHERE admitted_at_ms >= ${since} - ${LONG_MS} AND settled_at_ms >= ${since}
      AND settled_at_ms - admitted_at_ms <= ${LONG_MS}
    UNION ALL SELECT ${columns} FROM ${journal} WHERE settled_at_ms - admitted_at_ms > ${LONG_MS} AND settled_at_ms >= ${since}`;
}

/** From when on the steps of a window are exact if it was filled with sums by day. */
export function exactAfterMs(windowS: number, wallMs: number): number {
  return stepOf(wallMs, windowS) + stepMs(windowS);
}

/** The cost of one step, by its beginning. */
export type Step = readonly [atMs: number, nanos: Nanos];
