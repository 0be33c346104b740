/** The rows of a usage report. */
import { nameReport } from './name-report.ts';
import { isNameKind } from './names.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import { type Period, periodsOf } from './periods.ts';
import type { Row } from './rows.ts';
import { ROW_FIGURES, SUM_COLUMNS, SUM_FIGURES, SUM_NAMES, sumsOf } from './sql.ts';
import type { SumGroup, UsageQuery } from './usage.ts';

/** The parts of time whose figures add up to a report. */
export function reportPeriods({ sinceMs, untilMs, by, and = [], groupId }: UsageQuery): readonly Period[] {
  if (groupId !== undefined && isNameKind(by)) return periodsOf(sinceMs, untilMs, 'moments');
  return periodsOf(sinceMs, untilMs, by === 'day' || and.includes('day') ? 'days' : 'months');
}

/**
 * Selects the rows of a report: sums come from the tables of sums, and from the journal only for
 * partial days.
 */
export function reportRows(periods: readonly Period[], query: UsageQuery, dialect: Dialect): Operation<Row[]> {
  const { by, and = [] } = query;
  if (isNameKind(by)) return nameReport(periods, by, query, dialect);
  const values: (string | number)[] = [];
  const parameter = (value: string | number) => `$${values.push(value)}`;
  const isOfGroups = query.groupId !== undefined || [by, ...and].includes('group');
  const sourceOf = isOfGroups ? sourceOfGroups : sourceOfKeys;
  const parts = periods.map((period) => {
    const { select, time } = sourceOf(period.kind, dialect);
    const filters = [`${time} >= ${parameter(period.from)}`, `${time} < ${parameter(period.to)}`];
    if (query.groupId !== undefined) filters.push(`level_id = ${parameter(query.groupId)}`);
    else if (isOfGroups) filters.push(IS_GROUP);
    if (query.keyId !== undefined) filters.push(`key_id = ${parameter(query.keyId)}`);
    if (query.model !== undefined) filters.push(`model = ${parameter(query.model)}`);
    return `${select} WHERE ${filters.join(' AND ')}`;
  });
  // An empty range has no parts.
  const figures = parts.join(' UNION ALL ') || `${sourceOf('days', dialect).select} WHERE false`;
  const { columns, tail } = groupedBy(by === undefined ? [] : [by, ...and]);
  return rows(`SELECT ${columns} ${sumsOf(SUM_FIGURES)} FROM (${figures}) AS u ${tail}`, values);
}

/** Days and months are in order of time; within them, the most expensive rows come first. */
function groupedBy(groups: readonly SumGroup[]): { columns: string; tail: string } {
  if (groups.length === 0) return { columns: '', tail: '' };
  const names = groups.map((group) => `u.${NAMED_BY[group] ?? group}`);
  const times = groups.filter((group) => group === 'day' || group === 'month').map((group) => `u.${group}`);
  const others = names.filter((name) => !times.includes(name));
  const withKeys = groups.includes('key');
  const withGroups = groups.includes('group');
  const grouped = [...names, ...(withKeys ? ['k.name'] : []), ...(withGroups ? ['g.name'] : [])].join(', ');
  const shown = [...names, ...(withKeys ? ['k.name AS key'] : []), ...(withGroups ? ['g.name AS group_name'] : [])];
  return {
    columns: `${shown.join(', ')},`,
    tail: `${withKeys ? 'LEFT JOIN inf_gw.keys AS k ON k.id = u.key_id' : ''}
      ${withGroups ? 'LEFT JOIN inf_gw.groups AS g ON g.id = u.level_id' : ''} GROUP BY ${grouped}
      ORDER BY ${[...times, 'cost_nanos DESC', 'requests DESC', ...others].join(', ')}`,
  };
}

/** The columns of what has a name and an id. */
const NAMED_BY: Partial<Record<SumGroup, string>> = { key: 'key_id', group: 'level_id' };

/** Their end users are levels, too, and so are keys that have made others. */
const IS_GROUP = "level_id >= 'grp_' AND level_id < 'grp`' AND level_id NOT LIKE '%/%'";

/** Where the figures of a period are, and the column that says when they are from. */
function sourceOfKeys(kind: Period['kind'], { admissionDay, admissionMonth }: Dialect) {
  switch (kind) {
    case 'months':
      return {
        select: `SELECT CAST(NULL AS text) AS day, month, ${SUM_COLUMNS} FROM inf_gw.usage_months`,
        time: 'month',
      };
    case 'days':
      return {
        select: `SELECT day, substr(day, 1, 7) AS month, ${SUM_COLUMNS} FROM inf_gw.usage_days`,
        time: 'day',
      };
    case 'moments':
      return {
        select: `SELECT ${admissionDay} AS day, ${admissionMonth} AS month, ${SUM_NAMES}, ${ROW_FIGURES} FROM inf_gw.journal`,
        time: 'admitted_at_ms',
      };
  }
}

/** The same of what was booked to groups, which is summed by day alone: a day sorts after its own month. */
function sourceOfGroups(kind: Period['kind'], { admissionDay, admissionMonth, textsIn }: Dialect) {
  if (kind !== 'moments') {
    return {
      select: `SELECT level_id, day, substr(day, 1, 7) AS month, ${SUM_COLUMNS} FROM inf_gw.level_days`,
      time: 'day',
    };
  }
  return {
    select: `SELECT level_id, day, month, ${SUM_COLUMNS} FROM (SELECT l.value AS level_id, ${admissionDay} AS day, ${admissionMonth} AS month, admitted_at_ms,
      ${SUM_NAMES}, ${ROW_FIGURES} FROM inf_gw.journal AS j, ${textsIn('j.levels')} AS l) AS booked`,
    time: 'admitted_at_ms',
  };
}
