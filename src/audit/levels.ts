/**
 * Checks the sums of levels, in SQL that both stores accept. The sums booked to groups, end users and parent keys must equal the
 * sums of the journal plus sealed sums of dropped rows, by day and by month. The shares of groups in the days of keys must, too.
 */
import { type AuditDialect, check, Differences, MAX_DIFFERENCES, type Queries } from './checks.ts';
import { ALL_LEVELS, levelRanges, type Range } from './ranges.ts';
import { differencesIn, FIGURES, FIGURES_OF_ROW, NAMES, sumsOfSides } from './rows.ts';

/** Matches end users: their id is the id of the key or group, a slash and the name. */
const IS_USER = "level_id LIKE '%/%'";
const IS_GROUP = `level_id LIKE 'grp\\_%' ESCAPE '\\' AND NOT ${IS_USER}`;
/** Matches days that a group's report finds; the report searches the text of `group_ids`. */
const IS_FOUND = `(j.group_ids LIKE '["' || l.value || '"%' OR j.group_ids LIKE '%,"' || l.value || '"%')`;

/** Sums of end users may be dropped if they are older than the month of this age before the last request. */
const KEPT_MS = 32 * 86_400_000;
const DAY = ['level_id', 'day'] as const;
const MONTH = ['level_id', 'month'] as const;
const SHARE = [...DAY, ...NAMES] as const;

/** Runs one query at a time. */
export function* levelQueries(dialect: AuditDialect): Queries {
  const { schema } = dialect;
  const differences = new Differences();
  const [count] = yield `SELECT count(*) AS rows FROM ${schema}level_days`;
  const [last] = yield `SELECT max(last_at_ms) AS at_ms FROM ${schema}usage_months`;
  const kept = new Date(Number(last?.at_ms ?? 0n) - KEPT_MS).toISOString().slice(0, 7);
  const ranges = yield* levelRanges(dialect);
  for (const comparison of comparisons(dialect, kept)) {
    for (const range of comparison.isLarge ? ranges : [ALL_LEVELS]) {
      const found = yield compared(comparison, range, kept);
      const lines = found.flatMap((row) => differencesIn(row, comparison.keys));
      differences.add(lines, Number(found[0]?.found ?? 0) - found.length);
    }
  }
  return check('sums of levels', Number(count?.rows), differences.listed, differences.unlisted);
}

interface Comparison {
  readonly keys: readonly string[];
  readonly expected: string;
  readonly stored: string;
  /** Whether there may be millions of sums. */
  readonly isLarge: boolean;
}

function comparisons(dialect: AuditDialect, kept: string): readonly Comparison[] {
  const { schema } = dialect;
  const storedDays = `SELECT level_id, day, ${OWN_FIGURES} FROM ${schema}level_days`;
  return [
    { keys: DAY, expected: daysOf(dialect, 'day'), stored: storedDays, isLarge: true },
    { keys: MONTH, expected: expectedMonths(dialect, kept), stored: storedMonths(dialect, kept), isLarge: true },
    { keys: SHARE, expected: sharesOf(dialect), stored: sharesIn('usage_days', dialect), isLarge: false },
  ];
}

const OWN_FIGURES = FIGURES.join(', ');

/** The figures booked to each level, per request, plus sealed days. `period`: an expression over the column `day`. */
function daysOf(dialect: AuditDialect, period: string): string {
  const booked = bookedRows(dialect, ['level_id', 'day']);
  return `SELECT level_id, ${period}, ${OWN_FIGURES} FROM (${booked}
      UNION ALL SELECT level_id, day, ${OWN_FIGURES} FROM ${dialect.schema}sealed_levels) AS booked`;
}

/** Journal rows, one copy per level to which the request was booked. */
function bookedRows({ schema, day, eachIn, collated }: AuditDialect, keys: readonly string[]): string {
  const columns: Readonly<Record<string, string>> = { level_id: collated('l.value'), day, key_id: 'j.key_id' };
  const named = keys.map((key) => `${columns[key] ?? collated(`j.${key}`)} AS ${key}`);
  return `SELECT ${named.join(', ')}, ${FIGURES_OF_ROW} FROM ${schema}journal AS j ${eachIn('j.levels')} WHERE j.levels IS NOT NULL`;
}

/** The figures booked to groups, by key, model and source. */
function sharesOf(dialect: AuditDialect): string {
  return `SELECT * FROM (${bookedRows(dialect, SHARE)}) AS booked WHERE ${IS_GROUP} UNION ALL ${sharesIn('sealed_days', dialect)}`;
}

function sharesIn(table: string, { schema, eachIn, collated }: AuditDialect): string {
  const names = NAMES.map((name) => `j.${name}`);
  return `SELECT ${collated('l.value')} AS level_id, j.day, ${names.join(', ')}, ${OWN_FIGURES}
    FROM ${schema}${table} AS j ${eachIn('j.group_ids')} WHERE ${IS_FOUND}`;
}

/** Recent months of end users are stored only as days, and are compared as days. */
function expectedMonths(dialect: AuditDialect, kept: string): string {
  const days = daysOf(dialect, 'substr(day, 1, 7) AS month');
  return `SELECT * FROM (${days}) AS months WHERE NOT (${IS_USER} AND month >= '${kept}')`;
}

/** The days of end users are added to their month once they are old. */
function storedMonths({ schema }: AuditDialect, kept: string): string {
  const month = 'substr(day, 1, 7)';
  return `SELECT level_id, month, ${OWN_FIGURES} FROM ${schema}level_months
      UNION ALL SELECT level_id, ${month}, ${OWN_FIGURES} FROM ${schema}level_days WHERE ${IS_USER} AND ${month} < '${kept}'`;
}

/** Sums that differ between the two sides, with their total number. */
function compared({ keys, expected, stored }: Comparison, range: Range, kept: string): string {
  const within = (rows: string) => `SELECT * FROM (${rows}) AS levels WHERE ${range('level_id')}`;
  const sums = sumsOfSides(keys, FIGURES, { expected: within(expected), stored: within(stored) });
  const differs = FIGURES.map((figure) => `coalesce(e_${figure}, -1) <> coalesce(s_${figure}, -1)`).join(' OR ');
  const wasDropped = `s_requests IS NULL AND ${IS_USER} AND ${keys[1]} < '${kept}'`;
  return `SELECT *, count(*) OVER () AS found FROM (${sums}) AS summed
    WHERE (${differs}) AND NOT (${wasDropped}) ORDER BY ${keys.join(', ')} LIMIT ${MAX_DIFFERENCES}`;
}
