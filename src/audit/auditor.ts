/** Checks shared by both stores, in SQL that both databases accept; the differences are parameters in `AuditDialect`. */
import { DAY_MS } from '../core/clock.ts';
import { formatUsd } from '../core/money.ts';
import { budgetQueries } from './budgets.ts';
import {
  type AuditDialect,
  type Check,
  check,
  type Differences,
  type JournalFindings,
  MAX_NANOS,
  type Queries,
} from './checks.ts';
import { levelQueries } from './levels.ts';
import { nameQueries } from './names.ts';

/** `lostHolds`: faults of holds found by store-specific checks. */
export function* commonChecks(
  dialect: AuditDialect,
  findings: JournalFindings,
  lostHolds: readonly string[] = [],
): Queries<Record<'journal' | 'holds' | 'keys', Check> & { readonly money: readonly Check[] }> {
  const of = (name: string, rows: number, { listed, unlisted }: Differences) => check(name, rows, listed, unlisted);
  return {
    journal: of('journal rows', findings.rows, findings.rowDifferences),
    money: [
      yield* balance(dialect, findings),
      yield* credit(dialect),
      of('sums by day', findings.dayRows, findings.dayDifferences),
      of('sums by month', findings.monthRows, findings.monthDifferences),
      yield* levelQueries(dialect),
      yield* nameQueries(dialect),
      yield* budgetQueries(dialect),
    ],
    holds: yield* holds(dialect, lostHolds),
    keys: yield* keys(dialect),
  };
}

/** Returns the start of each UTC day with journal rows, in milliseconds since 1970. */
export function* journalDays({ schema }: AuditDialect): Queries<number[]> {
  const days: number[] = [];
  for (let from = Number.MIN_SAFE_INTEGER; ; ) {
    const [next] = yield `SELECT min(admitted_at_ms) AS at FROM ${schema}journal WHERE admitted_at_ms >= ${from}`;
    if (typeof next?.at !== 'bigint') return days;
    const dayStartMs = Math.floor(Number(next.at) / DAY_MS) * DAY_MS;
    days.push(dayStartMs);
    from = dayStartMs + DAY_MS;
  }
}

/** The balance is the sum of the credit entries less the costs in the journal, including the costs of dropped rows. */
function* balance({ schema }: AuditDialect, { costNanos, rows, sealedRows }: JournalFindings): Queries {
  const accounts = yield `SELECT balance_nanos FROM ${schema}account`;
  const [credits] =
    yield `SELECT coalesce(sum(amount_nanos), 0) AS nanos, count(*) AS rows FROM ${schema}credit_entries`;
  const expected = (credits?.nanos as bigint) - costNanos;
  const [actual] = accounts.map((account) => account.balance_nanos as bigint);
  const differences = accounts.length === 1 ? [] : [`there are ${accounts.length} accounts, not one`];
  if (actual !== undefined && actual !== expected) {
    differences.push(`the balance is ${formatUsd(actual)} USD, but credit less costs is ${formatUsd(expected)} USD`);
  }
  return check('balance', Number(credits?.rows) + rows + sealedRows, differences);
}

/** Each entry is within the range of amounts, and none is zero. */
function* credit({ schema }: AuditDialect): Queries {
  const [all] = yield `SELECT count(*) AS rows FROM ${schema}credit_entries`;
  const invalid = yield `SELECT id FROM ${schema}credit_entries
    WHERE amount_nanos = 0 OR amount_nanos NOT BETWEEN -${MAX_NANOS} AND ${MAX_NANOS}
      OR balance_nanos NOT BETWEEN -${MAX_NANOS} AND ${MAX_NANOS} ORDER BY id`;
  const differences = invalid.map(({ id }) => `entry ${id} has an amount or a balance out of range`);
  return check('credit entries', Number(all?.rows), differences);
}

/** A request is either in flight or in the journal, never both. */
function* holds({ schema }: AuditDialect, lost: readonly string[]): Queries {
  const rows = yield `SELECT request_id, hold_nanos, input_tokens, output_tokens,
    (SELECT count(*) FROM ${schema}journal j WHERE j.request_id = h.request_id) AS ended
    FROM ${schema}holds h`;
  const wrong = rows.flatMap(
    ({ request_id: id, ended, hold_nanos: nanos, input_tokens: input, output_tokens: output }) => [
      ...(ended !== 0n ? [`request ${id} has a hold, but it is in the journal`] : []),
      ...([nanos, input, output].some((figure) => (figure as bigint) < 0n) ? [`the hold of ${id} is negative`] : []),
    ],
  );
  return check('holds', rows.length, [...wrong, ...lost]);
}

/**
 * Every referenced key and group exists. Keys in the journal are covered: other checks compare the journal with the sums by day.
 */
function* keys({ schema, indexOf, tablesOfKeys }: AuditDialect): Queries {
  const [all] = yield `SELECT count(*) AS rows FROM ${schema}keys`;
  const missing = yield `SELECT key_id FROM (
      ${tablesOfKeys.map((table) => `SELECT key_id FROM ${schema}${table} UNION `).join('')}
      SELECT substr(key_id, 1, ${indexOf}(key_id || '/', '/') - 1) FROM ${schema}budgets
      UNION SELECT parent_id FROM ${schema}keys WHERE parent_id IS NOT NULL
      UNION SELECT group_id FROM ${schema}keys WHERE group_id IS NOT NULL
      UNION SELECT group_id FROM ${schema}groups WHERE group_id IS NOT NULL
      UNION SELECT owner_id FROM ${schema}users) AS n
    WHERE NOT EXISTS (SELECT 1 FROM ${schema}keys k WHERE k.id = n.key_id)
      AND NOT EXISTS (SELECT 1 FROM ${schema}groups g WHERE g.id = n.key_id) ORDER BY key_id`;
  const differences = missing.map(({ key_id: id }) => `the key ${id} has requests or budgets, but does not exist`);
  return check('keys', Number(all?.rows), differences);
}
