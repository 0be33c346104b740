/** Fragments of SQL that both stores understand: what usage is counted by, and what is summed. */
import { NON_ERROR_OUTCOMES } from '../core/settlement.ts';

/** Whether a journal row counts as an error. */
export const IS_ERROR = `outcome NOT IN (${NON_ERROR_OUTCOMES.map((outcome) => `'${outcome}'`).join(', ')})`;

/** Of the journal: what a chart shows. */
export const HISTORY_COLUMNS = `id, admitted_at_ms, settled_at_ms, outcome, prompt_tokens + completion_tokens AS tokens,
  cost_nanos, first_byte_ms`;

/** What the sums are kept by, next to the day or month. */
export const SUM_NAMES = 'key_id, model, source';
/** What is summed. */
export const SUM_FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'cost_nanos',
] as const;
/** The columns that usage_days, usage_months and sealed_days have in common. */
export const SUM_COLUMNS = [SUM_NAMES, ...SUM_FIGURES].join(', ');
/** The figures of one journal row. */
export const ROW_FIGURES = `1 AS requests, CASE WHEN ${IS_ERROR} THEN 1 ELSE 0 END AS errors, prompt_tokens, cached_tokens,
  cache_write_tokens, completion_tokens, cost_nanos`;
/** The figures of a key in a month. */
export const MONTH_SUMS = `${sumsOf(['requests', 'cost_nanos'])}, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens`;

/** Selects the sum of each figure, 0 where there are no rows. */
export function sumsOf(figures: readonly (typeof SUM_FIGURES)[number][]): string {
  return figures.map((figure) => `coalesce(sum(${figure}), 0) AS ${figure}`).join(', ');
}
