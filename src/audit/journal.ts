/**
 * Reads the journal day by day: checks each row, and compares the sums of each day and month with
 * those stored.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DAY_MS } from '../core/clock.ts';
import { SUM_COLUMNS, Sums } from './sums.ts';

/** No amount is larger than a billion USD. */
export const MAX_NANOS = 10n ** 18n;

/** SQL conditions that no valid row meets, and how to describe a row that meets one. */
const INVALID: readonly (readonly [condition: string, description: string])[] = [
  [
    `prompt_tokens < 0 OR completion_tokens < 0 OR cost_nanos < 0 OR cost_nanos > ${MAX_NANOS}`,
    'has a figure out of range',
  ],
  ['cached_tokens NOT BETWEEN 0 AND prompt_tokens', 'has more cached tokens than input tokens'],
  [
    'cached_tokens + cache_write_tokens > prompt_tokens',
    'has more tokens read from the cache and written to it than input tokens',
  ],
  [
    `outcome NOT IN ('ok', 'cancelled', 'interrupted', 'upstream_error', 'invalid_request', 'internal_error',
       'insufficient_credit', 'spend_limit_reached')`,
    'has an unknown outcome',
  ],
  ["(outcome = 'interrupted') <> (source = 'held')", 'was interrupted but not charged as held, or the other way round'],
  [
    "source = 'held' AND corrected_at_ms IS NULL AND cost_nanos <> coalesce(hold_nanos, cost_nanos)",
    'is charged as held, but not with the amount of its hold',
  ],
  ["outcome IN ('ok', 'cancelled') AND failure_reason IS NOT NULL", 'did not fail, but has a reason for a failure'],
  ["source <> 'held' AND corrected_at_ms IS NOT NULL", 'was corrected, but is not charged as held'],
  ['settled_at_ms < 0 OR admitted_at_ms < 0', 'has a time before 1970'],
];

const SUMS_OF_JOURNAL = `SELECT key_id, model, source, count(*) AS requests,
    sum(outcome NOT IN ('ok', 'cancelled')) AS errors, sum(prompt_tokens) AS prompt_tokens,
    sum(cached_tokens) AS cached_tokens, sum(coalesce(cache_write_tokens, 0)) AS cache_write_tokens,
    sum(completion_tokens) AS completion_tokens, sum(cost_nanos) AS cost_nanos
  FROM journal WHERE admitted_at_ms >= ? AND admitted_at_ms < ? GROUP BY key_id, model, source`;
const SUMS_OF_SEALS = `SELECT ${SUM_COLUMNS} FROM sealed_days WHERE day = ?`;

export interface Findings {
  readonly rows: number;
  /** Rows that were dropped, and whose sums were sealed. */
  readonly sealedRows: number;
  readonly dayRows: number;
  readonly monthRows: number;
  readonly rowDifferences: readonly string[];
  readonly dayDifferences: readonly string[];
  readonly monthDifferences: readonly string[];
  /** The cost of all requests, those of dropped rows included. */
  readonly costNanos: bigint;
}

/** Holds the sums of one day and one month in memory at a time. */
export class JournalWalk {
  readonly #database: DatabaseSync;
  readonly #ofDay: Sums;
  readonly #ofMonth: Sums;
  readonly #invalidRows: StatementSync;
  #rows = 0;
  #sealedRows = 0;
  #dayRows = 0;
  #monthRows = 0;
  #costNanos = 0n;
  readonly #differences: string[] = [];
  readonly #dayDifferences: string[] = [];
  readonly #monthDifferences: string[] = [];

  constructor(database: DatabaseSync) {
    this.#database = database;
    database.exec('PRAGMA temp_store = MEMORY');
    this.#ofDay = new Sums(database, 'of_day', 'usage_days', 'day');
    this.#ofMonth = new Sums(database, 'of_month', 'usage_months', 'month');
    const conditions = INVALID.map(([condition]) => `(${condition})`);
    this.#invalidRows = database.prepare(
      `SELECT request_id, ${conditions.map((condition, i) => `${condition} AS invalid${i}`).join(', ')} FROM journal
       WHERE admitted_at_ms >= ? AND admitted_at_ms < ? AND (${conditions.join(' OR ')})`,
    );
  }

  run(onProgress: (read: number) => void): Findings {
    let month: string | undefined;
    for (const day of this.#days()) {
      if (month !== undefined && !day.startsWith(month)) this.#closeMonth(month);
      month = day.slice(0, 7);
      this.#day(day);
      onProgress(this.#rows);
    }
    if (month !== undefined) this.#closeMonth(month);
    this.#strayMonths();
    return {
      rows: this.#rows,
      sealedRows: this.#sealedRows,
      dayRows: this.#dayRows,
      monthRows: this.#monthRows,
      rowDifferences: this.#differences,
      dayDifferences: this.#dayDifferences,
      monthDifferences: this.#monthDifferences,
      costNanos: this.#costNanos,
    };
  }

  /** Every day in the journal, the sums or the sealed days, in order. */
  #days(): string[] {
    const days = new Set(
      this.#all('SELECT DISTINCT day FROM usage_days UNION SELECT day FROM sealed_days').map(({ day }) => String(day)),
    );
    const next = this.#database.prepare('SELECT min(admitted_at_ms) AS at FROM journal WHERE admitted_at_ms >= ?');
    for (let from = Number.MIN_SAFE_INTEGER; ; ) {
      const at = (next.get(from) as { at: bigint | null }).at;
      if (at === null) break;
      const dayStart = Math.floor(Number(at) / DAY_MS) * DAY_MS;
      days.add(new Date(dayStart).toISOString().slice(0, 10));
      from = dayStart + DAY_MS;
    }
    return [...days].toSorted();
  }

  #day(day: string): void {
    const from = Date.parse(`${day}T00:00:00Z`);
    this.#ofDay.clear();
    this.#ofDay.add(SUMS_OF_JOURNAL, from, from + DAY_MS);
    this.#ofDay.add(SUMS_OF_SEALS, day);
    this.#ofMonth.addAll(this.#ofDay);
    this.#count(day);
    this.#dayRows += this.#ofDay.storedRows(day);
    this.#dayDifferences.push(...this.#ofDay.differences(day));
    for (const { request_id: id, ...conditions } of this.#invalidRows.all(from, from + DAY_MS)) {
      for (const [i, isMet] of Object.values(conditions).entries()) {
        if (isMet === 1n) this.#differences.push(`request ${id} ${INVALID[i]?.[1]}`);
      }
    }
  }

  /** Adds a day's rows and costs to the totals. */
  #count(day: string): void {
    const [ofDay] = this.#all(
      'SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_nanos), 0) AS cost_nanos FROM temp.of_day',
    );
    const sealed = this.#database
      .prepare('SELECT coalesce(sum(requests), 0) AS requests FROM sealed_days WHERE day = ?')
      .get(day);
    this.#rows += Number(ofDay?.requests) - Number(sealed?.requests);
    this.#sealedRows += Number(sealed?.requests);
    this.#costNanos += ofDay?.cost_nanos as bigint;
  }

  #closeMonth(month: string): void {
    this.#monthRows += this.#ofMonth.storedRows(month);
    this.#monthDifferences.push(...this.#ofMonth.differences(month));
    this.#ofMonth.clear();
  }

  /** Compares the stored sums of months that have no day. */
  #strayMonths(): void {
    const strays = this.#all(
      `SELECT DISTINCT month FROM usage_months WHERE month NOT IN
         (SELECT DISTINCT substr(day, 1, 7) FROM usage_days UNION SELECT substr(day, 1, 7) FROM sealed_days)`,
    );
    for (const { month } of strays) this.#closeMonth(String(month));
  }

  #all(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all();
  }
}
