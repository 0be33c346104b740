/** Sums by user, tag and app: fragments of SQL that both stores understand, and the bound of a report. Pure. */
import { MAX_NAMES, NAME_KINDS, type NameKind, OTHER_NAMES } from '../core/spent-by.ts';
import { SUM_FIGURES } from './sql.ts';
import type { UsageGroup, UsageRow } from './usage.ts';

/** The columns of the journal that have the names; NULL where there is none. */
export const NAME_COLUMNS: Readonly<Record<NameKind, string>> = { user: 'by_user', tag: 'by_tag', app: 'by_app' };

/** What the sums by name are kept by, next to the day. */
const NAME_SUM_KEYS = 'kind, name, key_id, model';
/** The columns of usage_name_days. */
export const NAME_SUM_COLUMNS = ['day', NAME_SUM_KEYS, ...SUM_FIGURES].join(', ');

export function isNameKind(by: UsageGroup | undefined): by is NameKind {
  return (NAME_KINDS as readonly (string | undefined)[]).includes(by);
}

/**
 * A report with at most as many names as it may show: what the others came to counts as `other`. Rows come with the
 * most expensive first, and stay so.
 */
export function withinBound(rows: readonly UsageRow[], by: NameKind): readonly UsageRow[] {
  const isName = (row: UsageRow) => row[by] !== '' && row[by] !== OTHER_NAMES;
  const beyond = rows.filter(isName).slice(MAX_NAMES);
  if (beyond.length === 0) return rows;
  const dropped = new Set(beyond);
  const other = rows.find((row) => row[by] === OTHER_NAMES);
  const sum = [...(other === undefined ? [] : [other]), ...beyond].reduce(plus);
  const kept = rows.filter((row) => row !== other && !dropped.has(row));
  return [...kept, { ...sum, [by]: OTHER_NAMES }].toSorted(mostExpensiveFirst);
}

function plus(a: UsageRow, b: UsageRow): UsageRow {
  return {
    ...a,
    requests: a.requests + b.requests,
    errors: a.errors + b.errors,
    promptTokens: a.promptTokens + b.promptTokens,
    cachedTokens: a.cachedTokens + b.cachedTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    completionTokens: a.completionTokens + b.completionTokens,
    costNanos: a.costNanos + b.costNanos,
  };
}

function mostExpensiveFirst(a: UsageRow, b: UsageRow): number {
  if (a.costNanos !== b.costNanos) return a.costNanos > b.costNanos ? -1 : 1;
  return b.requests - a.requests;
}
