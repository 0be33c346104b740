/** What was used, by key, model, day or month: whole days from the aggregates, broken days from the journal. */
import { DAY_MS, utcDay } from '../core/clock.ts';
import type { Nanos } from '../core/money.ts';
import { NO_ERRORS } from './journal.ts';
import type { Sqlite } from './sqlite.ts';

export const USAGE_GROUPS = ['key', 'model', 'day', 'month'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageQuery {
  readonly by: UsageGroup | undefined;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  /** Inclusive, by time of admission. */
  readonly sinceMs: number | undefined;
  /** Exclusive. */
  readonly untilMs: number | undefined;
}

export interface UsageRow {
  readonly key: string | undefined;
  readonly keyId: string | undefined;
  readonly model: string | undefined;
  readonly day: string | undefined;
  readonly month: string | undefined;
  readonly requests: number;
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly costNanos: Nanos;
}

/** This month's figures of a key. */
export interface MonthFigures {
  readonly requests: number;
  readonly tokens: number;
  readonly costNanos: Nanos;
}

/** From the year 10000 on days no longer sort as texts. */
const END_OF_DAYS_MS = Date.UTC(10_000, 0, 1);

export class UsageReader {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  /** The figures of every key that was used in a month. */
  month(month: string): Map<string, MonthFigures> {
    const rows = this.#database
      .prepare('SELECT key_id, requests, tokens, cost_nanos FROM usage_months WHERE month = ?')
      .safeIntegers()
      .all(month) as { key_id: string; requests: bigint; tokens: bigint; cost_nanos: bigint }[];
    return new Map(
      rows.map((row) => [
        row.key_id,
        { requests: Number(row.requests), tokens: Number(row.tokens), costNanos: row.cost_nanos },
      ]),
    );
  }

  /** The figures of one key in a month. */
  monthOf(keyId: string, month: string): MonthFigures {
    const row = this.#database
      .prepare('SELECT requests, tokens, cost_nanos FROM usage_months WHERE key_id = ? AND month = ?')
      .safeIntegers()
      .get(keyId, month) as { requests: bigint; tokens: bigint; cost_nanos: bigint } | undefined;
    return { requests: Number(row?.requests ?? 0), tokens: Number(row?.tokens ?? 0), costNanos: row?.cost_nanos ?? 0n };
  }

  /** Sums by group; with no group, exactly one row. Keys and models by cost, days and months by date. */
  report(query: UsageQuery): UsageRow[] {
    const source = figuresSource(query);
    const group = GROUPS[query.by ?? 'all'];
    const rows = this.#database
      .prepare(
        `SELECT ${group.columns} coalesce(sum(u.requests), 0) AS requests, coalesce(sum(u.errors), 0) AS errors,
           coalesce(sum(u.prompt_tokens), 0) AS prompt_tokens, coalesce(sum(u.completion_tokens), 0) AS completion_tokens,
           coalesce(sum(u.cost_nanos), 0) AS cost_nanos
         FROM (${source.sql}) AS u ${group.tail}`,
      )
      .safeIntegers()
      .all(source.parameters) as Record<string, bigint | string>[];
    return rows.map(toRow);
  }
}

const GROUPS: Record<UsageGroup | 'all', { columns: string; tail: string }> = {
  all: { columns: '', tail: '' },
  key: {
    columns: 'k.name AS key, u.key_id AS key_id,',
    tail: 'LEFT JOIN keys AS k ON k.id = u.key_id GROUP BY u.key_id ORDER BY cost_nanos DESC, requests DESC, u.key_id',
  },
  model: { columns: 'u.model AS model,', tail: 'GROUP BY u.model ORDER BY cost_nanos DESC, requests DESC, u.model' },
  day: { columns: 'u.day AS day,', tail: 'GROUP BY u.day ORDER BY u.day' },
  month: { columns: 'substr(u.day, 1, 7) AS month,', tail: 'GROUP BY 1 ORDER BY 1' },
};

interface Source {
  readonly sql: string;
  readonly parameters: Record<string, string | number>;
}

/** A query for the rows to be summed: the days that lie wholly in the range, and the journal for what is left. */
function figuresSource(query: UsageQuery): Source {
  const parameters: Record<string, string | number> = {};
  const filters: string[] = [];
  if (query.keyId !== undefined) {
    filters.push('key_id = $key');
    parameters.key = query.keyId;
  }
  if (query.model !== undefined) {
    filters.push('model = $model');
    parameters.model = query.model;
  }
  const since = query.sinceMs ?? 0;
  const until = query.untilMs ?? Number.MAX_SAFE_INTEGER;
  const firstWholeDay = Math.ceil(since / DAY_MS) * DAY_MS;
  const wholeDaysEnd = query.untilMs === undefined ? END_OF_DAYS_MS : Math.floor(until / DAY_MS) * DAY_MS;
  const parts: string[] = [];
  if (firstWholeDay < wholeDaysEnd) {
    parts.push(daysSql(filters, query.untilMs === undefined));
    parameters.firstDay = utcDay(firstWholeDay);
    if (query.untilMs !== undefined) parameters.endDay = utcDay(wholeDaysEnd);
    if (since < firstWholeDay) parts.push(journalSql(filters, parameters, 'head', since, firstWholeDay));
    if (query.untilMs !== undefined && wholeDaysEnd < until) {
      parts.push(journalSql(filters, parameters, 'tail', wholeDaysEnd, until));
    }
  } else {
    parts.push(journalSql(filters, parameters, 'whole', since, until));
  }
  return { sql: parts.join(' UNION ALL '), parameters };
}

function daysSql(filters: readonly string[], openEnded: boolean): string {
  const where = ['day >= $firstDay', ...(openEnded ? [] : ['day < $endDay']), ...filters].join(' AND ');
  return `SELECT day, key_id, model, requests, errors, prompt_tokens, completion_tokens, cost_nanos FROM usage_days WHERE ${where}`;
}

function journalSql(
  filters: readonly string[],
  parameters: Record<string, string | number>,
  part: string,
  fromMs: number,
  toMs: number,
): string {
  parameters[`${part}From`] = fromMs;
  parameters[`${part}To`] = toMs;
  const where = [`admitted_at_ms >= $${part}From`, `admitted_at_ms < $${part}To`, ...filters].join(' AND ');
  const noError = NO_ERRORS.map((outcome) => `'${outcome}'`).join(', ');
  return `SELECT strftime('%Y-%m-%d', admitted_at_ms / 1000, 'unixepoch') AS day, key_id, model, 1 AS requests,
    outcome NOT IN (${noError}) AS errors, prompt_tokens, completion_tokens, cost_nanos FROM journal WHERE ${where}`;
}

function toRow(row: Record<string, bigint | string>): UsageRow {
  const text = (value: bigint | string | undefined) => (typeof value === 'string' ? value : undefined);
  return {
    key: text(row.key),
    keyId: text(row.key_id),
    model: text(row.model),
    day: text(row.day),
    month: text(row.month),
    requests: Number(row.requests),
    errors: Number(row.errors),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    costNanos: row.cost_nanos as bigint,
  };
}
