/**
 * The rows of a usage report. Sums by key, model and source exist by day and by month; sums by user, tag and app exist by
 * day. The journal has everything, but only as long as its rows are kept: it is read for parts of days, for hours, and for
 * combinations that no table of sums has.
 */
import { NAME_KINDS, type NameKind, OTHER_NAMES } from '../core/spent-by.ts';
import { isNameKind, NAME_COLUMNS } from './names.ts';
import { type Dialect, type Operation, rows, type Values } from './operation.ts';
import { type Period, periodsOf } from './periods.ts';
import type { Row } from './rows.ts';
import { hasLevel, isGroup, ROW_FIGURES, SUM_FIGURES, SUM_NAMES, sumsOf } from './sql.ts';
import type { UsageGroup, UsageQuery } from './usage.ts';

/** Adds a value to a statement. Returns its parameter. */
type Place = (value: Values[number]) => string;

/** The tables that a report is read from. */
type Source = 'sums' | 'group sums' | 'name sums' | 'journal';

export function groupsOf({ by, and = [] }: UsageQuery): readonly UsageGroup[] {
  return by === undefined ? [] : [by, ...and];
}

/** The kinds of names that a report groups or filters by. */
function nameKindsOf(query: UsageQuery): readonly NameKind[] {
  const groups = groupsOf(query);
  return NAME_KINDS.filter((kind) => groups.includes(kind) || query.names?.[kind] !== undefined);
}

function sourceOf(query: UsageQuery): Source {
  const groups = groupsOf(query);
  const kinds = nameKindsOf(query);
  if (groups.includes('hour') || kinds.length > 1) return 'journal';
  if (kinds.length === 1) return isOfGroups(query) || groups.includes('source') ? 'journal' : 'name sums';
  return isOfGroups(query) ? 'group sums' : 'sums';
}

/** Whether a report is read from the journal alone, which keeps its rows for a time. */
export function isFromJournal(query: UsageQuery): boolean {
  return sourceOf(query) === 'journal';
}

/** The parts of time whose figures add up to a report. */
export function reportPeriods(query: UsageQuery): readonly Period[] {
  const { sinceMs, untilMs } = query;
  if (isFromJournal(query)) return periodsOf(sinceMs, untilMs, 'moments');
  return periodsOf(sinceMs, untilMs, groupsOf(query).includes('day') ? 'days' : 'months');
}

/** Selects the rows of a report. */
export function reportRows(periods: readonly Period[], query: UsageQuery, dialect: Dialect): Operation<Row[]> {
  const values: Values[number][] = [];
  const place: Place = (value) => `$${values.push(value)}`;
  const parts = periods.flatMap((period) => partsOf(period, query, dialect, place));
  // An empty range has no parts.
  const figures = parts.join(' UNION ALL ') || nothing(query);
  const filters = nameKindsOf(query).flatMap((kind) => {
    const name = query.names?.[kind];
    return name === undefined ? [] : [`u.${NAME_COLUMNS[kind]} = ${place(name)}`];
  });
  const where = filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`;
  const { columns, joins, tail } = groupedBy(groupsOf(query));
  return rows(`SELECT ${columns} ${sumsOf(SUM_FIGURES)} FROM (${figures}) AS u ${joins} ${where} ${tail}`, values);
}

function isOfGroups(query: UsageQuery): boolean {
  return query.groupId !== undefined || groupsOf(query).includes('group');
}

/** The parts of a report from one period. All parts of a report have the same columns in the same order. */
function partsOf(period: Period, query: UsageQuery, dialect: Dialect, place: Place): string[] {
  const filters = (time: string) => filtersOf(query, period, time, place).join(' AND ');
  const source = sourceOf(query);
  const [kind] = nameKindsOf(query);
  if (period.kind === 'moments') return [`${momentsSelect(query, dialect, place)} AND ${filters('j.admitted_at_ms')}`];
  if (source === 'group sums') {
    const ofGroups = groupFilters(query, 'j.group_ids', place).join(' AND ');
    return [
      `SELECT ${COMMON}, ${FIGURES}, day, substr(day, 1, 7) AS month, l.value AS level_id
         FROM inf_gw.usage_days AS j, ${dialect.textsIn('j.group_ids')} AS l WHERE ${ofGroups} AND ${filters('j.day')}`,
    ];
  }
  const [table, time, day, month] =
    period.kind === 'months'
      ? ['usage_months', 'month', 'CAST(NULL AS text)', 'month']
      : ['usage_days', 'day', 'day', 'substr(day, 1, 7)'];
  const sums = (more: string) =>
    `SELECT ${COMMON}, ${FIGURES}, ${day} AS day, ${month} AS month${more} FROM inf_gw.${table} AS j WHERE ${filters(`j.${time}`)}`;
  if (source !== 'name sums' || kind === undefined) return [sums('')];
  // A request without a name has no sum by name: the sums of all requests, less the sums by name, are those without.
  const column = NAME_COLUMNS[kind];
  // A day sorts after its own month and before the next one, so the bounds of months select the days in them.
  const named = (figures: string, name: string) =>
    `SELECT key_id, model, CAST(NULL AS text) AS source, ${figures}, day, substr(day, 1, 7) AS month, ${name} AS ${column}
       FROM inf_gw.usage_name_days AS j WHERE kind = ${place(kind)} AND ${filters('j.day')}`;
  return [sums(`, '' AS ${column}`), named(TAKEN_OUT, "''"), named(FIGURES, 'name')];
}

/** Selects from the journal, up to a condition that more can be added to. */
function momentsSelect(query: UsageQuery, dialect: Dialect, place: Place): string {
  const { admissionDay, admissionMonth, textsIn } = dialect;
  const kinds = nameKindsOf(query);
  const columns = [
    ...(groupsOf(query).includes('hour') ? [`j.admitted_at_ms / ${HOUR_MS} * ${HOUR_MS} AS hour_ms`] : []),
    ...(isOfGroups(query) ? ['l.value AS level_id'] : []),
    ...kinds.map((kind) => `${sumName(kind, dialect)} AS ${NAME_COLUMNS[kind]}`),
  ];
  // The report filters by the names in the sums. A filter by the names in the journal spares most rows their lookup.
  const named = kinds.flatMap((kind) => {
    const name = query.names?.[kind];
    if (name === undefined || name === OTHER_NAMES) return [];
    return [name === '' ? `j.${NAME_COLUMNS[kind]} IS NULL` : `j.${NAME_COLUMNS[kind]} = ${place(name)}`];
  });
  const [from, ofGroups] = isOfGroups(query)
    ? [`inf_gw.journal AS j, ${textsIn('j.levels')} AS l`, groupFilters(query, 'j.levels', place)]
    : ['inf_gw.journal AS j', []];
  const filters = ['true', ...named, ...ofGroups].join(' AND ');
  const more = columns.map((column) => `, ${column}`).join('');
  return `SELECT ${COMMON}, ${ROW_FIGURES}, ${admissionDay} AS day, ${admissionMonth} AS month${more} FROM ${from} WHERE ${filters}`;
}

/** The name under which a journal row is summed. Names without their own sums in that month are summed as `other`. */
function sumName(kind: NameKind, { admissionMonth }: Dialect): string {
  const column = `j.${NAME_COLUMNS[kind]}`;
  return `CASE WHEN ${column} IS NULL THEN '' ELSE coalesce((SELECT n.name FROM inf_gw.usage_name_keys AS n
      WHERE n.month = ${admissionMonth} AND n.kind = '${kind}' AND n.key_id = j.key_id AND n.name = ${column}),
    '${OTHER_NAMES}') END`;
}

/** Selects no rows, with all columns that a report may group by. */
function nothing(query: UsageQuery): string {
  const columns = groupsOf(query).map((group) => COLUMNS[group]);
  const extra = [...new Set([...columns, ...nameKindsOf(query).map((kind) => NAME_COLUMNS[kind])])];
  const more = extra.filter((name) => name !== undefined && name !== 'key_id');
  const nulls = more.map((name) => `, CAST(NULL AS text) AS ${name}`).join('');
  return `SELECT ${COMMON}, ${FIGURES}, day, day AS month${nulls} FROM inf_gw.usage_days WHERE false`;
}

function filtersOf({ keyId, model }: UsageQuery, { from, to }: Period, time: string, place: Place): string[] {
  return [
    `${time} >= ${place(from)}`,
    `${time} < ${place(to)}`,
    ...(keyId === undefined ? [] : [`j.key_id = ${place(keyId)}`]),
    ...(model === undefined ? [] : [`j.model = ${place(model)}`]),
  ];
}

/** A row appears once for each group in `ids`, an array of JSON: as `l.value`. */
function groupFilters({ groupId }: UsageQuery, ids: string, place: Place): string[] {
  if (groupId === undefined) return [isGroup('l.value')];
  // A comparison of texts avoids parsing most rows.
  return [`l.value = ${place(groupId)}`, hasLevel(ids, groupId, place)];
}

/** The columns of groupings with an id or a different SQL name. */
const COLUMNS: Partial<Record<UsageGroup, string>> = {
  key: 'key_id',
  group: 'level_id',
  hour: 'hour_ms',
  ...NAME_COLUMNS,
};
const TIMES: readonly UsageGroup[] = ['hour', 'day', 'month'];

function shownColumn(group: UsageGroup): string {
  return `u.${COLUMNS[group] ?? group}${isNameKind(group) ? ` AS ${group}` : ''}`;
}

/** Rows are ordered by time; rows of one time by cost, the highest first. */
function groupedBy(groups: readonly UsageGroup[]): { columns: string; joins: string; tail: string } {
  if (groups.length === 0) return { columns: '', joins: '', tail: '' };
  const columnOf = (group: UsageGroup) => `u.${COLUMNS[group] ?? group}`;
  const names = groups.map(columnOf);
  const times = groups.filter((group) => TIMES.includes(group)).map(columnOf);
  const others = names.filter((name) => !times.includes(name));
  const joined = [
    ...(groups.includes('key') ? [['k', 'keys', 'key_id', 'key']] : []),
    ...(groups.includes('group') ? [['g', 'groups', 'level_id', 'group_name']] : []),
  ];
  return {
    columns: [...groups.map(shownColumn), ...joined.map(([table, , , name]) => `${table}.name AS ${name}`), ''].join(
      ', ',
    ),
    joins: joined.map(([table, of, id]) => `LEFT JOIN inf_gw.${of} AS ${table} ON ${table}.id = u.${id}`).join(' '),
    tail: `GROUP BY ${[...names, ...joined.map(([table]) => `${table}.name`)].join(', ')} HAVING sum(u.requests) > 0
      ORDER BY ${[...times, 'cost_nanos DESC', 'requests DESC', ...others].join(', ')}`,
  };
}

const HOUR_MS = 3_600_000;
/** The columns that all sources have. */
const COMMON = SUM_NAMES;
const FIGURES = SUM_FIGURES.join(', ');
const TAKEN_OUT = SUM_FIGURES.map((figure) => `-${figure} AS ${figure}`).join(', ');
