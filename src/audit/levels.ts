/**
 * The check of the sums of levels, in SQL that both stores understand: what groups, end users and keys around others are
 * booked is what the journal and the rows that were dropped of it add up to, by day and by month; and so is what groups
 * were booked by the days of keys.
 */
import { type AuditDialect, check, Differences, MAX_DIFFERENCES, type Queries } from './checks.ts';
import { COMPARED_FIGURES, differencesIn, FIGURES, NAMES, SUMS, SUMS_OF_ROWS } from './rows.ts';

/** Whether a level is an end user: its id is that of the key or group, a slash and the name. */
const IS_USER = "level_id LIKE '%/%'";
const IS_GROUP = `level_id LIKE 'grp\\_%' ESCAPE '\\' AND NOT ${IS_USER}`;
/** Whether a report of a group, which looks for the text of its id, finds the day. */
const IS_FOUND = `(j.group_ids LIKE '["' || l.value || '"%' OR j.group_ids LIKE '%,"' || l.value || '"%')`;

/** End users whose sums are older than the month of this long before the last request need not have them. */
const KEPT_MS = 32 * 86_400_000;
const DAY = ['level_id', 'day'] as const;
const MONTH = ['level_id', 'month'] as const;
const SHARE = [...DAY, ...NAMES] as const;

/** A query at a time, and each step yields one. */
export function* levelQueries(dialect: AuditDialect): Queries {
  const { schema } = dialect;
  const differences = new Differences();
  const [count] = yield `SELECT count(*) AS rows FROM ${schema}level_days`;
  const [last] = yield `SELECT max(last_at_ms) AS at_ms FROM ${schema}usage_months`;
  const kept = new Date(Number(last?.at_ms ?? 0n) - KEPT_MS).toISOString().slice(0, 7);
  for (const [keys, expected, stored] of [
    [DAY, daysOf(dialect), `${schema}level_days`],
    [MONTH, monthsOf(dialect), `(${storedMonths(dialect)})`],
    [SHARE, sharesOf(dialect), `(${sharesIn('usage_days', dialect)})`],
  ] as const) {
    const found = yield compared(keys, expected, stored, kept);
    const lines = found.flatMap((row) => differencesIn(row, keys));
    differences.add(lines, Number(found[0]?.found ?? 0) - found.length);
  }
  return check('sums of levels', Number(count?.rows), differences.listed, differences.unlisted);
}

function daysOf(dialect: AuditDialect): string {
  const level = dialect.collated('level_id');
  return `SELECT level_id, day, ${SUMS} FROM (
      SELECT ${level} AS level_id, day, ${SUMS_OF_ROWS} FROM (${booked(dialect)}) AS b GROUP BY 1, 2
      UNION ALL SELECT level_id, day, ${FIGURES.join(', ')} FROM ${dialect.schema}sealed_levels) AS u
    GROUP BY level_id, day`;
}

/** Rows of the journal, once for each level that they were booked to. */
function booked({ schema, day, eachIn }: AuditDialect): string {
  return `SELECT l.value AS level_id, ${day} AS day, j.* FROM ${schema}journal AS j ${eachIn('j.levels')} WHERE j.levels IS NOT NULL`;
}

/** What groups were booked, by key, model and source. */
function sharesOf(dialect: AuditDialect): string {
  const share = SHARE.map((name) =>
    name === 'day' || name === 'key_id' ? name : `${dialect.collated(name)} AS ${name}`,
  );
  return `SELECT ${SHARE.join(', ')}, ${SUMS} FROM (
      SELECT ${share.join(', ')}, ${SUMS_OF_ROWS} FROM (${booked(dialect)}) AS b WHERE ${IS_GROUP} GROUP BY 1, 2, 3, 4, 5
      UNION ALL ${sharesIn('sealed_days', dialect)}) AS u
    GROUP BY ${SHARE.join(', ')}`;
}

function sharesIn(table: string, { schema, eachIn, collated }: AuditDialect): string {
  return `SELECT ${collated('l.value')} AS level_id, j.day, ${NAMES.map((name) => `j.${name}`).join(', ')}, ${SUMS}
    FROM ${schema}${table} AS j ${eachIn('j.group_ids')} WHERE ${IS_FOUND} GROUP BY 1, 2, 3, 4, 5`;
}

function monthsOf(dialect: AuditDialect): string {
  return `SELECT level_id, substr(day, 1, 7) AS month, ${SUMS} FROM (${daysOf(dialect)}) AS d GROUP BY 1, 2`;
}

/** Those of end users are in their days until these are old. */
function storedMonths({ schema }: AuditDialect): string {
  return `SELECT level_id, month, ${SUMS} FROM (SELECT level_id, month, ${FIGURES.join(', ')} FROM ${schema}level_months
      UNION ALL SELECT level_id, substr(day, 1, 7), ${FIGURES.join(', ')} FROM ${schema}level_days WHERE ${IS_USER}) AS m
    GROUP BY 1, 2`;
}

/** `e_…` is what is expected, and `s_…` what is stored; NULL where there is no such row. */
function compared(keys: readonly string[], expected: string, stored: string, kept: string): string {
  const differs = FIGURES.map((figure) => `coalesce(e.${figure}, -1) <> coalesce(s.${figure}, -1)`).join(' OR ');
  const wasDropped = `s.requests IS NULL AND ${IS_USER} AND ${keys[1]} < '${kept}'`;
  return `WITH e AS (${expected}), different AS (SELECT ${keys.join(', ')}, ${COMPARED_FIGURES}
      FROM e FULL JOIN ${stored} AS s USING (${keys.join(', ')}) WHERE (${differs}) AND NOT (${wasDropped}))
    SELECT *, (SELECT count(*) FROM different) AS found FROM different ORDER BY ${keys.join(', ')} LIMIT ${MAX_DIFFERENCES}`;
}
