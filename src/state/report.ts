/** The rows of a usage report. */
import { type NameKind, OTHER_NAMES } from '../core/spent-by.ts';
import { isNameKind, NAME_COLUMNS } from './names.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import { type Period, periodsOf } from './periods.ts';
import type { Row } from './rows.ts';
import { hasLevel, isGroup, ROW_FIGURES, SUM_COLUMNS, SUM_FIGURES, SUM_NAMES, sumsOf } from './sql.ts';
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
    if (query.groupId !== undefined) {
      // The text spares most rows being taken apart.
      filters.push(`level_id = ${parameter(query.groupId)}`, hasLevel('levels', query.groupId, parameter));
    }
    if (isOfGroups && query.groupId === undefined) filters.push(isGroup('level_id'));
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

/** The same of what was booked to groups, which the days of keys say; their months do not. A day sorts after its own month. */
function sourceOfGroups(kind: Period['kind'], { admissionDay, admissionMonth, textsIn }: Dialect) {
  const ofMoments = `${admissionDay} AS day, ${admissionMonth} AS month, admitted_at_ms, ${ROW_FIGURES}`;
  const [table, ids, time, read] =
    kind === 'moments'
      ? ['journal', 'levels', 'admitted_at_ms', ofMoments]
      : ['usage_days', 'group_ids', 'day', `day, substr(day, 1, 7) AS month, ${FIGURES}`];
  return {
    select: `SELECT level_id, day, month, ${SUM_COLUMNS} FROM (SELECT l.value AS level_id, ${ids} AS levels, ${SUM_NAMES}, ${read}
      FROM inf_gw.${table} AS j, ${textsIn(`j.${ids}`)} AS l) AS booked`,
    time,
  };
}

const FIGURES = SUM_FIGURES.join(', ');
const TAKEN_OUT = SUM_FIGURES.map((figure) => `-${figure} AS ${figure}`).join(', ');

/**
 * Sums by name are kept by day alone. The requests that have no name are not among them: they are what is missing to
 * the sums of all requests. What was booked to a group has no sums by name: there all periods are moments.
 */
function nameReport(periods: readonly Period[], by: NameKind, query: UsageQuery, dialect: Dialect): Operation<Row[]> {
  const values: (string | number)[] = [];
  const parameter = (value: string | number) => `$${values.push(value)}`;
  const within = (time: string, { from, to }: Period) => {
    const filters = [`${time} >= ${parameter(from)}`, `${time} < ${parameter(to)}`];
    if (query.keyId !== undefined) filters.push(`key_id = ${parameter(query.keyId)}`);
    if (query.model !== undefined) filters.push(`model = ${parameter(query.model)}`);
    if (query.groupId !== undefined) filters.push(hasLevel('j.levels', query.groupId, parameter));
    return filters.join(' AND ');
  };
  const named = (figures: string, name: string, period: Period) =>
    // A day sorts after its own month, and before the next one.
    `SELECT ${name} AS name, ${figures} FROM inf_gw.usage_name_days
       WHERE kind = ${parameter(by)} AND ${within('day', period)}`;
  const parts = periods.flatMap((period) => {
    if (period.kind === 'moments') return [`${momentsSelect(by, dialect)} WHERE ${within('admitted_at_ms', period)}`];
    const [table, time] =
      period.kind === 'months' ? (['usage_months', 'month'] as const) : (['usage_days', 'day'] as const);
    return [
      `SELECT '' AS name, ${FIGURES} FROM inf_gw.${table} WHERE ${within(time, period)}`,
      named(TAKEN_OUT, `''`, period),
      named(FIGURES, 'name', period),
    ];
  });
  // An empty range has no parts.
  const figures = parts.join(' UNION ALL ') || `SELECT '' AS name, ${FIGURES} FROM inf_gw.usage_days WHERE false`;
  return rows(
    `SELECT u.name AS ${by}, ${sumsOf(SUM_FIGURES)} FROM (${figures}) AS u GROUP BY u.name
      HAVING sum(u.requests) > 0 ORDER BY cost_nanos DESC, requests DESC, u.name`,
    values,
  );
}

/** The journal has all names; those that their key has no place for count as `other` here, too. */
function momentsSelect(by: NameKind, { admissionMonth }: Dialect): string {
  const column = NAME_COLUMNS[by];
  return `SELECT CASE WHEN j.${column} IS NULL THEN '' ELSE coalesce((SELECT n.name FROM inf_gw.usage_name_keys AS n
        WHERE n.month = ${admissionMonth} AND n.kind = '${by}' AND n.key_id = j.key_id AND n.name = j.${column}),
      '${OTHER_NAMES}') END AS name, ${ROW_FIGURES} FROM inf_gw.journal AS j`;
}
