/**
 * The check of the sums of levels, in SQL that both stores understand: what groups, end users and keys around others are
 * booked is what the journal and the rows that were dropped of it add up to, by day and by month.
 */
import { type AuditDialect, check, Differences, MAX_DIFFERENCES, type Queries } from './checks.ts';
import { COMPARED_FIGURES, differencesIn, FIGURES, SUMS, SUMS_OF_ROWS } from './rows.ts';

/** Whether a level is an end user: its id is that of the key or group, a slash and the name. */
const IS_USER = "level_id LIKE '%/%'";

/** End users whose sums are older than the month of this long before the last request need not have them. */
const KEPT_MS = 32 * 86_400_000;
const DAY = ['level_id', 'day', 'key_id', 'model', 'source'] as const;
const MONTH = ['level_id', 'month'] as const;

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
  ] as const) {
    const found = yield compared(keys, expected, stored, kept);
    const lines = found.flatMap((row) => differencesIn(row, keys));
    differences.add(lines, Number(found[0]?.found ?? 0) - found.length);
  }
  return check('sums of levels', Number(count?.rows), differences.listed, differences.unlisted);
}

function daysOf({ schema, day, eachLevel, collated }: AuditDialect): string {
  const names = `${collated('model')} AS model, ${collated('source')} AS source`;
  return `SELECT ${DAY.join(', ')}, ${SUMS} FROM (
      SELECT ${collated('level_id')} AS level_id, day, key_id, ${names}, ${SUMS_OF_ROWS} FROM (
        SELECT l.value AS level_id, ${day} AS day, j.* FROM ${schema}journal AS j ${eachLevel} WHERE j.levels IS NOT NULL) AS b
      GROUP BY 1, 2, 3, 4, 5
      UNION ALL SELECT ${[...DAY, ...FIGURES].join(', ')} FROM ${schema}sealed_levels) AS u
    GROUP BY ${DAY.join(', ')}`;
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
