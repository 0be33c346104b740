/** Fragments of SQL that both stores understand: what usage is counted by, and what is summed. */
import { NON_ERROR_OUTCOMES } from '../core/settlement.ts';
import { GROUP_ID } from './levels.ts';

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
/** Those of usage_days and sealed_days: with the groups that the requests were booked to, an array of JSON. */
export const DAY_COLUMNS = `group_ids, ${SUM_COLUMNS}`;
/** The figures of one journal row. */
export const ROW_FIGURES = `1 AS requests, CASE WHEN ${IS_ERROR} THEN 1 ELSE 0 END AS errors, prompt_tokens, cached_tokens,
  cache_write_tokens, completion_tokens, cost_nanos`;
/** The figures of a key in a month. */
export const MONTH_SUMS = `${sumsOf(['requests', 'cost_nanos'])}, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens`;

/**
 * Whether a column with the ids of levels, an array of JSON, has this one. `place` returns the parameter of a value. A
 * name of an end user may have such an id after a quotation mark, but that is written after a backslash.
 */
export function hasLevel(column: string, levelId: string, place: (value: string) => string): string {
  return `(${column} LIKE ${place(`["${levelId}"%`)} OR ${column} LIKE ${place(`%,"${levelId}"%`)})`;
}

/** Whether a level is an end user. */
export const isUser = (levelId: string) => `${levelId} LIKE '%/%'`;

/** Whether a level is a group. Its end users have ids that begin like its own. */
export const isGroup = (levelId: string) =>
  `substr(${levelId}, 1, ${GROUP_ID.length}) = '${GROUP_ID}' AND NOT ${isUser(levelId)}`;

/**
 * What a level was booked, by month, in rows that add up: an end user by day alone until those days are old. A group has
 * too many days to be read for that.
 */
export function bookedMonths(levelId: string, schema = 'inf_gw.'): string {
  return `(SELECT month, cost_nanos FROM ${schema}level_months WHERE level_id = ${levelId}
    UNION ALL SELECT substr(day, 1, 7), cost_nanos FROM ${schema}level_days WHERE level_id = ${levelId} AND ${isUser(levelId)})`;
}

/** Selects the sum of each figure, 0 where there are no rows. */
export function sumsOf(figures: readonly (typeof SUM_FIGURES)[number][]): string {
  return figures.map((figure) => `coalesce(sum(${figure}), 0) AS ${figure}`).join(', ');
}
