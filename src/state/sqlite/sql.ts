/** Fragments of SQL that several statements share. */
import { NON_ERROR_OUTCOMES } from '../../core/settlement.ts';

/** 1 for a journal row that counts as an error, 0 otherwise. */
export const IS_ERROR = `outcome NOT IN (${NON_ERROR_OUTCOMES.map((outcome) => `'${outcome}'`).join(', ')})`;

/** The UTC day and month in which a request was admitted. Usage counts in these. */
export const ADMISSION_DAY = "strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch')";
export const ADMISSION_MONTH = "strftime('%Y-%m', admitted_at_ms / 1000, 'unixepoch')";

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
/** For ON CONFLICT DO UPDATE SET: adds the figures of the new row to those of the stored one. */
export const ADD_FIGURES = SUM_FIGURES.map((figure) => `${figure} = ${figure} + excluded.${figure}`).join(', ');
/** The figures of one journal row. */
export const ROW_FIGURES = `1 AS requests, ${IS_ERROR} AS errors, prompt_tokens, cached_tokens,
  coalesce(cache_write_tokens, 0) AS cache_write_tokens, completion_tokens, cost_nanos`;

/** Selects the sum of each figure, 0 where there are no rows. */
export function sumsOf(figures: readonly (typeof SUM_FIGURES)[number][]): string {
  return figures.map((figure) => `coalesce(sum(${figure}), 0) AS ${figure}`).join(', ');
}
