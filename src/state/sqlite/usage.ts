/**
 * Usage by key, model, day, month or source: from the sums, and from the journal only for partial
 * days.
 */

import { utcDay } from '../../core/clock.ts';
import type { Period } from '../periods.ts';
import { reportPeriods, reportStatement } from '../report.ts';
import type { ReportDialect } from '../report-dialect.ts';
import { monthFiguresOf, type Row, refusalOf, usageRowsOf } from '../rows.ts';
import { MONTH_SUMS } from '../sql.ts';
import type { MonthFigures, RefusalRow, UsageQuery, UsageReport } from '../usage.ts';
import type { Sqlite } from './database.ts';
import { ADMISSION_DAY, ADMISSION_MONTH } from './sql.ts';

const DIALECT: ReportDialect = {
  table: (name) => name,
  placeholder: () => '?',
  admissionDay: ADMISSION_DAY,
  admissionMonth: ADMISSION_MONTH,
};

/** How `lastUses` compares the months. */
const COMPARISONS = { in: '=', before: '<' } as const;
/** From more keys than this on, reading the figures of all keys is faster than looking up each. */
const MAX_LOOKUPS = 1_000;

export class UsageReader {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  month(month: string): Map<string, MonthFigures> {
    const rows = this.#database
      .prepare(`SELECT key_id, ${MONTH_SUMS} FROM usage_months WHERE month = ? GROUP BY key_id`)
      .safeIntegers()
      .iterate(month) as IterableIterator<Row>;
    return new Map(Iterator.from(rows).map((row) => [row.key_id as string, monthFiguresOf(row)] as const));
  }

  monthsOf(keyIds: readonly string[], month: string): Map<string, MonthFigures> {
    if (keyIds.length > MAX_LOOKUPS) return this.month(month);
    return new Map(keyIds.map((id) => [id, this.monthOf(id, month)]));
  }

  monthOf(keyId: string, month: string): MonthFigures {
    const row = this.#database
      .prepare(`SELECT ${MONTH_SUMS} FROM usage_months WHERE month = ? AND key_id = ?`)
      .safeIntegers()
      .get(month, keyId) as Row;
    return monthFiguresOf(row);
  }

  lastUses(which: 'in' | 'before', month: string): Map<string, number> {
    const rows = this.#database
      .prepare(
        `SELECT key_id, max(last_at_ms) AS at_ms FROM usage_months WHERE month ${COMPARISONS[which]} ? GROUP BY key_id`,
      )
      .all(month) as { key_id: string; at_ms: number }[];
    return new Map(rows.map(({ key_id: keyId, at_ms: atMs }) => [keyId, atMs]));
  }

  lastUseOf(keyId: string): number | undefined {
    const atMs = this.#database.prepare('SELECT max(last_at_ms) FROM usage_months WHERE key_id = ?').pluck().get(keyId);
    return (atMs as number | null) ?? undefined;
  }

  refusalsOf(keyId: string, month: string): RefusalRow[] {
    const rows = this.#database
      .prepare(
        'SELECT code, reason, requests, last_at_ms FROM refusals WHERE month = ? AND key_id = ? ORDER BY requests DESC, code, reason',
      )
      .safeIntegers()
      .all(month, keyId) as Row[];
    return rows.map(refusalOf);
  }

  report(query: UsageQuery): UsageReport {
    const periods = reportPeriods(query);
    const { text, values } = reportStatement(periods, query, DIALECT);
    const rows = this.#database.prepare(text).safeIntegers().all(values) as Row[];
    return { rows: usageRowsOf(rows, query.by), droppedDays: periods.flatMap((period) => this.#droppedDays(period)) };
  }

  /**
   * The days of a period whose journal rows were dropped, so that only the whole day can be
   * reported.
   */
  #droppedDays(period: Period): string[] {
    if (period.kind !== 'moments') return [];
    return this.#database
      .prepare('SELECT DISTINCT day FROM sealed_days WHERE day >= ? AND day <= ?')
      .pluck()
      .all(utcDay(period.from), utcDay(period.to - 1)) as string[];
  }
}
