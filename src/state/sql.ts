/** SQL fragments for both stores: grouping columns and summed figures. */
import { NON_ERROR_OUTCOMES } from '../core/settlement.ts';
import { GROUP_ID } from './levels.ts';

/** Whether a journal row counts as an error. */
export const IS_ERROR = `outcome NOT IN (${NON_ERROR_OUTCOMES.map((outcome) => `'${outcome}'`).join(', ')})`;

/** The journal columns that charts use. */
export const HISTORY_COLUMNS = `id, admitted_at_ms, settled_at_ms, outcome, prompt_tokens + completion_tokens AS tokens,
  cost_nanos, first_byte_ms`;

/** The key columns of the sums, in addition to the day or month. */
export const SUM_NAMES = 'key_id, model, source';
/** The summed figures. */
export const SUM_FIGURES = [
  'requests',
  'errors',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'cost_nanos',
] as const;
/** The common columns of usage_days, usage_months and sealed_days. */
export const SUM_COLUMNS = [SUM_NAMES, ...SUM_FIGURES].join(', ');
/** The columns of usage_days and sealed_days: also the groups of the requests, as a JSON array. */
export const DAY_COLUMNS = `group_ids, ${SUM_COLUMNS}`;
/** The figures of one journal row. */
export const ROW_FIGURES = `1 AS requests, CASE WHEN ${IS_ERROR} THEN 1 ELSE 0 END AS errors, prompt_tokens, cached_tokens,
  cache_write_tokens, completion_tokens, cost_nanos`;
/** The figures of a key in a month. */
export const MONTH_SUMS = `${sumsOf(['requests', 'cost_nanos'])}, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens`;

/**
 * Whether a JSON array of level ids contains an id. `place` returns the parameter of a value. A quotation mark inside the
 * name of an end user is escaped with a backslash, so such a name cannot match.
 */
export function hasLevel(column: string, levelId: string, place: (value: string) => string): string {
  return `(${column} LIKE ${place(`["${levelId}"%`)} OR ${column} LIKE ${place(`%,"${levelId}"%`)})`;
}

/** Whether a level is an end user. */
export const isUser = (levelId: string) => `${levelId} LIKE '%/%'`;

/** Whether a level is a group. Ids of a group's end users have the same prefix. */
export const isGroup = (levelId: string) =>
  `substr(${levelId}, 1, ${GROUP_ID.length}) = '${GROUP_ID}' AND NOT ${isUser(levelId)}`;

/**
 * The charges of a level by month, in rows that add up. An end user's sums exist only by day until those days are old.
 * Groups are read by month, because they have too many days.
 */
export function bookedMonths(levelId: string, schema = 'inf_gw.'): string {
  return `(SELECT month, cost_nanos FROM ${schema}level_months WHERE level_id = ${levelId}
    UNION ALL SELECT substr(day, 1, 7), cost_nanos FROM ${schema}level_days WHERE level_id = ${levelId} AND ${isUser(levelId)})`;
}

/** Selects the sum of each figure; 0 without rows. */
export function sumsOf(figures: readonly (typeof SUM_FIGURES)[number][]): string {
  return figures.map((figure) => `coalesce(sum(${figure}), 0) AS ${figure}`).join(', ');
}
