/**
 * Checks the journal rows of each day in PostgreSQL, and compares the sums of each month with the stored sums. The database sums
 * and compares; only differences are read.
 */
import { DAY_MS } from '../../core/clock.ts';
import { type AuditOptions, JournalFindings, MAX_DIFFERENCES, type Read } from '../checks.ts';
import {
  COMPARED_FIGURES,
  differencesIn,
  FIGURES,
  faultColumns,
  IS_INVALID,
  NAMES,
  rowDifferences,
  SUM_COLUMNS,
  SUMS,
  SUMS_OF_ROWS,
} from '../rows.ts';

const IN_RANGE = 'admitted_at_ms >= $1 AND admitted_at_ms < $2';
const ROWS_OF_DAY = `SELECT count(*) AS rows, max(id) AS newest, count(*) FILTER (WHERE ${IS_INVALID}) AS invalid
  FROM inf_gw.journal WHERE ${IN_RANGE}`;
const INVALID_ROWS = `SELECT request_id, ${faultColumns((condition) => `(${condition})::int::bigint`)}
  FROM inf_gw.journal WHERE ${IN_RANGE} AND (${IS_INVALID}) ORDER BY admitted_at_ms, id LIMIT ${MAX_DIFFERENCES}`;
const ANY_MONTHS = `SELECT DISTINCT substr(day, 1, 7) AS month FROM inf_gw.usage_days
  UNION SELECT month FROM inf_gw.usage_months UNION SELECT substr(day, 1, 7) FROM inf_gw.sealed_days`;

/** The journal has the database's collation, the sums have collation C; `COLLATE "C"` makes them comparable. */
const SUMMED = `SELECT to_char(to_timestamp(n * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C" AS day, ${SUM_COLUMNS}
  FROM (SELECT admitted_at_ms / ${DAY_MS} AS n, key_id, model COLLATE "C" AS model, source COLLATE "C" AS source,
      ${SUMS_OF_ROWS} FROM inf_gw.journal WHERE ${IN_RANGE} GROUP BY 1, 2, 3, 4) j`;

/** Expected sums of a month, from its rows ($1 to $2) and its sealed days ($3), and their differences from the stored sums. */
const MONTH = `WITH ended AS MATERIALIZED (${SUMMED}),
  sealed AS (SELECT day, ${SUM_COLUMNS} FROM inf_gw.sealed_days WHERE substr(day, 1, 7) = $3),
  by_day AS MATERIALIZED (SELECT day AS period, ${NAMES.join(', ')}, ${SUMS}
    FROM (SELECT day, ${SUM_COLUMNS} FROM ended UNION ALL SELECT day, ${SUM_COLUMNS} FROM sealed) e
    GROUP BY day, ${NAMES.join(', ')}),
  by_month AS (SELECT $3 COLLATE "C" AS period, ${NAMES.join(', ')}, ${SUMS} FROM by_day GROUP BY ${NAMES.join(', ')}),
  days AS (SELECT day AS period, ${NAMES.join(', ')}, ${SUMS} FROM inf_gw.usage_days WHERE substr(day, 1, 7) = $3
    GROUP BY day, ${NAMES.join(', ')}),
  months AS (SELECT month AS period, ${SUM_COLUMNS} FROM inf_gw.usage_months WHERE month = $3),
  day_differences AS (${differencesBetween('by_day', 'days')}),
  month_differences AS (${differencesBetween('by_month', 'months')})`;
const TOTALS = `${MONTH} SELECT (SELECT coalesce(sum(requests), 0) FROM sealed) AS sealed_rows,
  (SELECT coalesce(sum(cost_nanos), 0) FROM by_day) AS cost_nanos, (SELECT count(*) FROM days) AS day_rows,
  (SELECT count(*) FROM months) AS month_rows, (SELECT count(*) FROM day_differences) AS day_differences,
  (SELECT count(*) FROM month_differences) AS month_differences`;

function differencesBetween(expected: string, stored: string): string {
  const figures = (side: string) => FIGURES.map((figure) => `${side}.${figure}`).join(', ');
  return `SELECT period, ${NAMES.join(', ')}, ${COMPARED_FIGURES}
    FROM ${expected} e FULL JOIN ${stored} s USING (period, ${NAMES.join(', ')})
    WHERE ROW(${figures('e')}) IS DISTINCT FROM ROW(${figures('s')})`;
}

export class DatabaseWalk {
  readonly #read: Read;
  readonly #options: AuditOptions;
  readonly #found = new JournalFindings();
  /** The largest row id. */
  newestId = 0n;

  constructor(read: Read, options: AuditOptions) {
    this.#read = read;
    this.#options = options;
  }

  /** `daysOfJournal`: the start of each day with rows. */
  async run(daysOfJournal: readonly number[]): Promise<JournalFindings> {
    const [journal] = await this.#read('SELECT count(*) AS rows FROM inf_gw.journal');
    const total = Number(journal?.rows);
    const days = Map.groupBy(daysOfJournal, (dayStartMs) => new Date(dayStartMs).toISOString().slice(0, 7));
    const stored = (await this.#read(ANY_MONTHS)).map(({ month }) => String(month));
    for (const month of [...new Set([...stored, ...days.keys()])].toSorted()) {
      for (const dayStartMs of days.get(month) ?? []) {
        await this.#day(dayStartMs);
        this.#options.onProgress(this.#found.rows, total);
      }
      await this.#month(month);
    }
    return this.#found;
  }

  async #day(dayStartMs: number): Promise<void> {
    const range = [dayStartMs, dayStartMs + DAY_MS];
    const [day] = await this.#read(ROWS_OF_DAY, range);
    this.#found.rows += Number(day?.rows);
    const newest = day?.newest as bigint;
    if (newest > this.newestId) this.newestId = newest;
    const invalid = Number(day?.invalid);
    if (invalid === 0) return;
    const rows = await this.#read(INVALID_ROWS, range);
    this.#found.rowDifferences.add(rows.flatMap(rowDifferences), invalid - rows.length);
  }

  async #month(month: string): Promise<void> {
    const parameters = [...rangeOf(month), month];
    const [totals] = await this.#read(TOTALS, parameters);
    this.#found.sealedRows += Number(totals?.sealed_rows);
    this.#found.costNanos += totals?.cost_nanos as bigint;
    this.#found.dayRows += Number(totals?.day_rows);
    this.#found.monthRows += Number(totals?.month_rows);
    for (const [table, differences] of [
      ['day_differences', this.#found.dayDifferences],
      ['month_differences', this.#found.monthDifferences],
    ] as const) {
      const count = Number(totals?.[table]);
      if (count === 0) continue;
      const order = ['period', ...NAMES].join(', ');
      const rows = await this.#read(
        `${MONTH} SELECT * FROM ${table} ORDER BY ${order} LIMIT ${MAX_DIFFERENCES}`,
        parameters,
      );
      differences.add(
        rows.flatMap((row) => differencesIn(row, ['period', ...NAMES])),
        count - rows.length,
      );
    }
  }
}

/** Start and end of a month. An invalid month gets an empty range. */
function rangeOf(month: string): [number, number] {
  const start = Date.parse(`${month}-01T00:00:00Z`);
  if (Number.isNaN(start)) return [0, 0];
  const date = new Date(start);
  return [start, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)];
}
