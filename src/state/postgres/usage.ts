/** Usage in the database: from the sums, and from the journal only for partial days. */
import { utcDay } from '../../core/clock.ts';
import type { Period } from '../periods.ts';
import { reportPeriods, reportStatement } from '../report.ts';
import type { ReportDialect } from '../report-dialect.ts';
import { monthFiguresOf, refusalOf, usageRowsOf } from '../rows.ts';
import { MONTH_SUMS } from '../sql.ts';
import type { MonthFigures, RefusalRow, Usage, UsageQuery, UsageReport } from '../usage.ts';
import type { Database } from './database.ts';

const ADMITTED = "to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC'";
const DIALECT: ReportDialect = {
  table: (name) => `inf_gw.${name}`,
  placeholder: (number) => `$${number}`,
  admissionDay: `to_char(${ADMITTED}, 'YYYY-MM-DD')`,
  admissionMonth: `to_char(${ADMITTED}, 'YYYY-MM')`,
};

/** How `lastUses` compares the months. */
const COMPARISONS = { in: '=', before: '<' } as const;

export class PostgresUsage implements Usage {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async month(month: string): Promise<ReadonlyMap<string, MonthFigures>> {
    return this.#months('month = $1', [month]);
  }

  async monthsOf(keyIds: readonly string[], month: string): Promise<ReadonlyMap<string, MonthFigures>> {
    return this.#months('month = $1 AND key_id = ANY ($2)', [month, keyIds]);
  }

  async monthOf(keyId: string, month: string): Promise<MonthFigures> {
    const text = `SELECT ${MONTH_SUMS} FROM inf_gw.usage_months WHERE month = $1 AND key_id = $2`;
    const [row] = await this.#database.run(text, [month, keyId]);
    return monthFiguresOf(row ?? {});
  }

  async lastUses(which: 'in' | 'before', month: string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#database.run(
      `SELECT key_id, max(last_at_ms) AS at_ms FROM inf_gw.usage_months WHERE month ${COMPARISONS[which]} $1 GROUP BY key_id`,
      [month],
    );
    return new Map(rows.map(({ key_id: keyId, at_ms: atMs }) => [keyId as string, Number(atMs)]));
  }

  async lastUseOf(keyId: string): Promise<number | undefined> {
    const text = 'SELECT max(last_at_ms) AS at_ms FROM inf_gw.usage_months WHERE key_id = $1';
    const [row] = await this.#database.run(text, [keyId]);
    return typeof row?.at_ms === 'bigint' ? Number(row.at_ms) : undefined;
  }

  async refusalsOf(keyId: string, month: string): Promise<readonly RefusalRow[]> {
    const rows = await this.#database.run(
      `SELECT code, reason, requests, last_at_ms FROM inf_gw.refusals WHERE month = $1 AND key_id = $2
         ORDER BY requests DESC, code, reason`,
      [month, keyId],
    );
    return rows.map(refusalOf);
  }

  async report(query: UsageQuery): Promise<UsageReport> {
    const periods = reportPeriods(query);
    const { text, values } = reportStatement(periods, query, DIALECT);
    const rows = await this.#database.run(text, values);
    const droppedDays: string[] = [];
    for (const period of periods) droppedDays.push(...(await this.#droppedDays(period)));
    return { rows: usageRowsOf(rows, query.by), droppedDays };
  }

  /**
   * The days of a period whose journal rows were dropped, so that only the whole day can be
   * reported.
   */
  async #droppedDays(period: Period): Promise<string[]> {
    if (period.kind !== 'moments') return [];
    const text = 'SELECT DISTINCT day FROM inf_gw.sealed_days WHERE day >= $1 AND day <= $2 ORDER BY day';
    const rows = await this.#database.run(text, [utcDay(period.from), utcDay(period.to - 1)]);
    return rows.map(({ day }) => day as string);
  }

  async #months(where: string, values: [string, (readonly string[])?]): Promise<ReadonlyMap<string, MonthFigures>> {
    const text = `SELECT key_id, ${MONTH_SUMS} FROM inf_gw.usage_months WHERE ${where} GROUP BY key_id`;
    const rows = await this.#database.run(
      text,
      values.filter((value) => value !== undefined),
    );
    return new Map(rows.map((row) => [row.key_id as string, monthFiguresOf(row)]));
  }
}
