/** Sums by user, tag and app: fragments of SQL that both stores understand, and the bound of a report. Pure. */

import type { Nanos } from '../core/money.ts';
import { MAX_NAMES, NAME_KINDS, type NameKind, OTHER_NAMES } from '../core/spent-by.ts';
import { SUM_FIGURES } from './sql.ts';
import type { UsageGroup, UsageRow } from './usage.ts';

/** The journal columns of the names; NULL if the request has none. */
export const NAME_COLUMNS: Readonly<Record<NameKind, string>> = { user: 'by_user', tag: 'by_tag', app: 'by_app' };

/** The key columns of the sums by name, in addition to the day. */
const NAME_SUM_KEYS = 'kind, name, key_id, model';
/** The columns of usage_name_days. */
export const NAME_SUM_COLUMNS = ['day', NAME_SUM_KEYS, ...SUM_FIGURES].join(', ');

export function isNameKind(by: UsageGroup | undefined): by is NameKind {
  return (NAME_KINDS as readonly (string | undefined)[]).includes(by);
}

/**
 * Merges the rows of all names beyond the first `MAX_NAMES` of their kind into rows of the name `other`, one for each
 * combination of the report's other groupings. The names with the highest cost keep their rows.
 */
export function withinBound(rows: readonly UsageRow[], groups: readonly UsageGroup[]): readonly UsageRow[] {
  return groups.filter(isNameKind).reduce((found, kind) => boundedBy(found, kind, groups), rows);
}

function boundedBy(rows: readonly UsageRow[], kind: NameKind, groups: readonly UsageGroup[]): readonly UsageRow[] {
  const costs = new Map<string, Nanos>();
  for (const row of rows) costs.set(row[kind] ?? '', (costs.get(row[kind] ?? '') ?? 0n) + row.costNanos);
  const names = [...costs].filter(([name]) => name !== '' && name !== OTHER_NAMES);
  if (names.length <= MAX_NAMES) return rows;
  const shown = new Set(
    names
      .toSorted(([, a], [, b]) => compare(b, a))
      .slice(0, MAX_NAMES)
      .map(([name]) => name),
  );
  const merged = new Map<string, UsageRow>();
  for (const row of rows) {
    const name = row[kind] ?? '';
    const renamed = name === '' || shown.has(name) ? row : { ...row, [kind]: OTHER_NAMES };
    const place = JSON.stringify(groups.map((group) => (group === 'key' ? renamed.keyId : renamed[group])));
    const before = merged.get(place);
    merged.set(place, before === undefined ? renamed : plus(before, renamed));
  }
  const times = groups.filter((group) => group === 'hour' || group === 'day' || group === 'month');
  const timeOf = (row: UsageRow) => times.map((group) => row[group]).join(' ');
  return [...merged.values()].toSorted((a, b) => compare(timeOf(a), timeOf(b)) || mostExpensiveFirst(a, b));
}

function compare<T extends string | bigint>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
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
  return compare(b.costNanos, a.costNanos) || b.requests - a.requests;
}
