/**
 * Checks the sums by user, tag and app, in SQL that both stores accept. On days with all their rows, they equal the sums of the
 * journal. On every day, they do not exceed the sums of all requests.
 */
import { DAY_MS } from '../core/clock.ts';
import { MAX_NAMES, NAME_KINDS, OTHER_NAMES } from '../core/spent-by.ts';
import { type AuditDialect, check, Differences, MAX_DIFFERENCES, type Queries, type Row } from './checks.ts';
import { FIGURES, FIGURES_OF_ROW, sumsOfSides } from './rows.ts';

const KEYS = ['kind', 'name', 'key_id', 'model'] as const;
const READ = 'key_id, model, outcome, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, cost_nanos';

export function* nameQueries({ schema }: AuditDialect): Queries {
  const [count] = yield `SELECT count(*) AS rows FROM ${schema}usage_name_days`;
  const differences = new Differences();
  for (const { month, kind, names } of yield tooMany(schema)) {
    differences.add([`${month}: ${names} names of the kind ${kind} have sums of their own; ${MAX_NAMES} may`]);
  }
  for (const { month, kind, name, key_id: keyId } of yield withoutPlace(schema)) {
    differences.add([`${month} ${kind} ${name}: the key ${keyId} has a place for it, but it has no sums of its own`]);
  }
  for (const { day, kind, key_id: keyId, model } of yield tooMuch(schema)) {
    differences.add([`${day} ${keyId} ${model}: the sums by ${kind} are more than those of all requests`]);
  }
  for (const { day, sealed } of yield days(schema)) {
    const from = Date.parse(`${day}T00:00:00Z`);
    if (Number.isNaN(from)) differences.add([`${day} is no day`]);
    else differences.add((yield wrong(schema, from, sealed !== 0n)).flatMap((row) => described(String(day), row)));
  }
  return check('sums by name', Number(count?.rows), differences.listed, differences.unlisted);
}

function tooMany(schema: string): string {
  return `SELECT month, kind, count(*) AS names FROM ${schema}usage_names GROUP BY month, kind
    HAVING count(*) > ${MAX_NAMES} ORDER BY month, kind LIMIT ${MAX_DIFFERENCES}`;
}

/** Names assigned to a key but absent from the list of names of their month. */
function withoutPlace(schema: string): string {
  return `SELECT k.month, k.kind, k.name, k.key_id FROM ${schema}usage_name_keys k WHERE NOT EXISTS (
      SELECT 1 FROM ${schema}usage_names n WHERE n.month = k.month AND n.kind = k.kind AND n.name = k.name)
    ORDER BY 1, 2, 3, 4 LIMIT ${MAX_DIFFERENCES}`;
}

function tooMuch(schema: string): string {
  const of = (by: string, table: string) =>
    `SELECT ${by}, sum(requests) AS requests, sum(cost_nanos) AS cost_nanos FROM ${schema}${table} GROUP BY ${by}`;
  return `SELECT n.day, n.kind, n.key_id, n.model FROM (${of('day, kind, key_id, model', 'usage_name_days')}) n
    LEFT JOIN (${of('day, key_id, model', 'usage_days')}) d ON d.day = n.day AND d.key_id = n.key_id AND d.model = n.model
    WHERE d.requests IS NULL OR n.requests > d.requests OR n.cost_nanos > d.cost_nanos
    ORDER BY n.day, n.kind, n.key_id, n.model LIMIT ${MAX_DIFFERENCES}`;
}

/** Days with sums. `sealed` is not 0 if rows of the day were dropped: the names in those rows are lost. */
function days(schema: string): string {
  return `SELECT d.day, (SELECT count(*) FROM ${schema}sealed_days s WHERE s.day = d.day) AS sealed
    FROM (SELECT day FROM ${schema}usage_days UNION SELECT day FROM ${schema}usage_name_days) d ORDER BY d.day`;
}

function wrong(schema: string, from: number, isSealed: boolean): string {
  const day = new Date(from).toISOString().slice(0, 10);
  const of = (kind: string) =>
    `SELECT '${kind}' AS kind, by_${kind} AS named, ${READ} FROM ended WHERE by_${kind} IS NOT NULL`;
  const named = `SELECT j.kind, coalesce(n.name, '${OTHER_NAMES}') AS name, j.key_id, model, ${FIGURES_OF_ROW}
      FROM (${NAME_KINDS.map(of).join(' UNION ALL ')}) AS j LEFT JOIN ${schema}usage_name_keys AS n
        ON n.month = '${day.slice(0, 7)}' AND n.kind = j.kind AND n.key_id = j.key_id AND n.name = j.named`;
  const stored = `SELECT * FROM ${schema}usage_name_days WHERE day = '${day}'`;
  const differs = (figure: string) => `coalesce(s_${figure}, 0) ${isSealed ? '<' : '<>'} coalesce(e_${figure}, 0)`;
  return `WITH ended AS (SELECT by_user, by_tag, by_app, ${READ} FROM ${schema}journal
      WHERE admitted_at_ms >= ${from} AND admitted_at_ms < ${from + DAY_MS})
    SELECT * FROM (${sumsOfSides(KEYS, FIGURES, { expected: named, stored })}) AS summed
    WHERE ${FIGURES.map(differs).join(' OR ')} ORDER BY ${KEYS.join(', ')} LIMIT ${MAX_DIFFERENCES + 1}`;
}

function described(day: string, row: Row): string[] {
  const name = [day, ...KEYS.map((key) => row[key])].join(' ');
  return FIGURES.flatMap((figure) => {
    const [stored, expected] = [row[`s_${figure}`] ?? 0n, row[`e_${figure}`] ?? 0n];
    return stored === expected ? [] : [`${name}: ${figure} is ${stored}, but the journal has ${expected}`];
  });
}
