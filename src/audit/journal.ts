/** Walks through the journal day by day: each row by itself, and the sums of each day and month against those stored. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type SumRow, Sums } from './sums.ts';

const DAY_MS = 86_400_000;
/** No amount is larger than a billion USD. */
export const MAX_NANOS = 10n ** 18n;

/** What is never true of a sound row, in SQL, and what is said of a row of which it is. */
const FAULTS: readonly (readonly [condition: string, says: string])[] = [
  [
    `prompt_tokens < 0 OR completion_tokens < 0 OR cost_nanos < 0 OR cost_nanos > ${MAX_NANOS}`,
    'has a figure out of range',
  ],
  ['cached_tokens NOT BETWEEN 0 AND prompt_tokens', 'has more cached tokens than tokens of input'],
  [
    "outcome NOT IN ('ok', 'cancelled', 'interrupted', 'upstream_error', 'invalid_request', 'internal_error')",
    'has an outcome that there is not',
  ],
  ["(outcome = 'interrupted') <> (source = 'held')", 'was interrupted and not charged as held, or the other way round'],
  [
    "source = 'held' AND corrected_at_ms IS NULL AND cost_nanos <> coalesce(hold_nanos, cost_nanos)",
    'is charged as held, but with another amount than it held',
  ],
  ["source <> 'held' AND corrected_at_ms IS NOT NULL", 'was corrected, though it is not charged as held'],
  ['settled_at_ms < 0 OR admitted_at_ms < 0', 'has a time before 1970'],
];

const SUM_COLUMNS = 'key_id, model, source, requests, errors, prompt_tokens, completion_tokens, cost_nanos';

export interface Findings {
  readonly rows: number;
  /** Rows whose sums were sealed when they were dropped. */
  readonly sealedRows: number;
  readonly dayRows: number;
  readonly monthRows: number;
  readonly rowFaults: readonly string[];
  readonly dayDifferences: readonly string[];
  readonly monthDifferences: readonly string[];
  /** What all requests cost, those of dropped rows too. */
  readonly costNanos: bigint;
  readonly keys: ReadonlySet<string>;
}

/** One day's share of the journal is in memory at a time, and one month's sums. */
export class JournalWalk {
  readonly #database: DatabaseSync;
  readonly #dayOfJournal: StatementSync;
  readonly #rowFaults: StatementSync;
  #rows = 0;
  #sealedRows = 0;
  #dayRows = 0;
  #monthRows = 0;
  #costNanos = 0n;
  readonly #faults: string[] = [];
  readonly #dayDifferences: string[] = [];
  readonly #monthDifferences: string[] = [];
  readonly #keys = new Set<string>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#dayOfJournal = database.prepare(
      `SELECT key_id, model, source, count(*) AS requests, sum(outcome NOT IN ('ok', 'cancelled')) AS errors,
         sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens, sum(cost_nanos) AS cost_nanos
       FROM journal WHERE admitted_at_ms >= ? AND admitted_at_ms < ? GROUP BY key_id, model, source`,
    );
    const conditions = FAULTS.map(([condition]) => `(${condition})`);
    this.#rowFaults = database.prepare(
      `SELECT request_id, ${conditions.map((condition, i) => `${condition} AS fault${i}`).join(', ')} FROM journal
       WHERE admitted_at_ms >= ? AND admitted_at_ms < ? AND (${conditions.join(' OR ')})`,
    );
  }

  run(onProgress: (read: number) => void): Findings {
    let month = '';
    let ofMonth = new Sums();
    for (const day of this.#days()) {
      if (!day.startsWith(month) || month === '') {
        this.#closeMonth(month, ofMonth);
        [month, ofMonth] = [day.slice(0, 7), new Sums()];
      }
      this.#day(day, ofMonth);
      onProgress(this.#rows);
    }
    this.#closeMonth(month, ofMonth);
    this.#strayMonths();
    return {
      rows: this.#rows,
      sealedRows: this.#sealedRows,
      dayRows: this.#dayRows,
      monthRows: this.#monthRows,
      rowFaults: this.#faults,
      dayDifferences: this.#dayDifferences,
      monthDifferences: this.#monthDifferences,
      costNanos: this.#costNanos,
      keys: this.#keys,
    };
  }

  /** Every day that the journal, the sums or the seals know of, in order. */
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

  #day(day: string, ofMonth: Sums): void {
    const from = Date.parse(`${day}T00:00:00Z`);
    const rows = this.#dayOfJournal.all(from, from + DAY_MS) as unknown as SumRow[];
    const sealed = this.#sums('sealed_days', 'day', day);
    for (const { requests } of rows) this.#rows += Number(requests);
    for (const { requests } of sealed) this.#sealedRows += Number(requests);
    const ofDay = new Sums();
    for (const row of [...rows, ...sealed]) {
      ofDay.add(row);
      ofMonth.add(row);
      this.#costNanos += row.cost_nanos;
      this.#keys.add(row.key_id);
    }
    const stored = this.#sums('usage_days', 'day', day);
    this.#dayRows += stored.length;
    this.#dayDifferences.push(...ofDay.differences(day, stored));
    for (const { request_id: id, ...faults } of this.#rowFaults.all(from, from + DAY_MS)) {
      for (const [i, fault] of Object.values(faults).entries()) {
        if (fault === 1n) this.#faults.push(`request ${id} ${FAULTS[i]?.[1]}`);
      }
    }
  }

  #closeMonth(month: string, sums: Sums): void {
    if (month === '') return;
    const stored = this.#sums('usage_months', 'month', month);
    this.#monthRows += stored.length;
    this.#monthDifferences.push(...sums.differences(month, stored));
  }

  /** Sums of months in which there was not a single day. */
  #strayMonths(): void {
    const strays = this.#all(
      `SELECT DISTINCT month FROM usage_months WHERE month NOT IN
         (SELECT DISTINCT substr(day, 1, 7) FROM usage_days UNION SELECT substr(day, 1, 7) FROM sealed_days)`,
    );
    for (const { month } of strays) {
      const name = String(month);
      this.#monthDifferences.push(...new Sums().differences(name, this.#sums('usage_months', 'month', name)));
    }
  }

  #sums(table: string, period: string, value: string): SumRow[] {
    return this.#database
      .prepare(`SELECT ${SUM_COLUMNS} FROM ${table} WHERE ${period} = ?`)
      .all(value) as unknown as SumRow[];
  }

  #all(sql: string): Record<string, unknown>[] {
    return this.#database.prepare(sql).all();
  }
}
