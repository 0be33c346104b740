/** Usage in the operator's book: from the sums, and from the journal only for partial days. */
import { utcDay } from '../core/clock.ts';
import { type Dialect, type Operation, rows } from './operation.ts';
import type { Period } from './periods.ts';
import { groupsOf, reportPeriods, reportRows } from './report.ts';
import { monthFiguresOf, refusalOf, usageRowsOf } from './rows.ts';
import { MONTH_SUMS } from './sql.ts';
import type { MonthFigures, RefusalRow, UsageQuery, UsageReport } from './usage.ts';

/** How `lastUses` compares the months. */
const COMPARISONS = { in: '=', before: '<' } as const;

/** Usage is counted by time of admission, in days and months of UTC. */
export class UsageBook {
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  /** The figures of every key that was used in a month, by key id. */
  month(month: string): Operation<ReadonlyMap<string, MonthFigures>> {
    return figuresByKey('month = $1', [month]);
  }

  /** The figures of these keys in a month, by key id; a key that was not used may be left out. */
  monthsOf(keyIds: readonly string[], month: string): Operation<ReadonlyMap<string, MonthFigures>> {
    return figuresByKey(`month = $1 AND ${this.#dialect.isAnyOf('key_id', '$2')}`, [month, keyIds]);
  }

  /** The figures of one key in a month. */
  *monthOf(keyId: string, month: string): Operation<MonthFigures> {
    const text = `SELECT ${MONTH_SUMS} FROM inf_gw.usage_months WHERE month = $1 AND key_id = $2`;
    const [row] = yield* rows(text, [month, keyId]);
    return monthFiguresOf(row ?? {});
  }

  /**
   * When each key was last used, in a month or in all months before it: milliseconds since 1970, by
   * key id.
   */
  *lastUses(which: 'in' | 'before', month: string): Operation<ReadonlyMap<string, number>> {
    const found = yield* rows(
      `SELECT key_id, max(last_at_ms) AS at_ms FROM inf_gw.usage_months WHERE month ${COMPARISONS[which]} $1 GROUP BY key_id`,
      [month],
    );
    return new Map(found.map(({ key_id: keyId, at_ms: atMs }) => [keyId as string, Number(atMs)]));
  }

  /** When a key was last used, in milliseconds since 1970; undefined if never. */
  *lastUseOf(keyId: string): Operation<number | undefined> {
    const text = 'SELECT max(last_at_ms) AS at_ms FROM inf_gw.usage_months WHERE key_id = $1';
    const [row] = yield* rows(text, [keyId]);
    return typeof row?.at_ms === 'bigint' ? Number(row.at_ms) : undefined;
  }

  /** A key's refusals in a month, most frequent first. */
  *refusalsOf(keyId: string, month: string): Operation<readonly RefusalRow[]> {
    const found = yield* rows(
      `SELECT code, reason, requests, last_at_ms FROM inf_gw.refusals WHERE month = $1 AND key_id = $2
         ORDER BY requests DESC, code, reason`,
      [month, keyId],
    );
    return found.map(refusalOf);
  }

  /** Sums by grouping; without a grouping, exactly one row. Rows are ordered by time, then by cost. */
  *report(query: UsageQuery): Operation<UsageReport> {
    const periods = reportPeriods(query);
    const found = yield* reportRows(periods, query, this.#dialect);
    const droppedDays: string[] = [];
    for (const period of periods) droppedDays.push(...(yield* droppedDaysIn(period)));
    return { rows: usageRowsOf(found, groupsOf(query)), droppedDays };
  }
}

function* figuresByKey(
  where: string,
  values: readonly (string | readonly string[])[],
): Operation<ReadonlyMap<string, MonthFigures>> {
  const found = yield* rows(
    `SELECT key_id, ${MONTH_SUMS} FROM inf_gw.usage_months WHERE ${where} GROUP BY key_id`,
    values,
  );
  return new Map(found.map((row) => [row.key_id as string, monthFiguresOf(row)]));
}

/**
 * The days of a period whose journal rows were dropped, so that only the whole day can be
 * reported.
 */
function* droppedDaysIn(period: Period): Operation<string[]> {
  if (period.kind !== 'moments') return [];
  const text = 'SELECT DISTINCT day FROM inf_gw.sealed_days WHERE day >= $1 AND day <= $2 ORDER BY day';
  const found = yield* rows(text, [utcDay(period.from), utcDay(period.to - 1)]);
  return found.map(({ day }) => day as string);
}
