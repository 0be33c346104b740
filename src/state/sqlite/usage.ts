/**
 * Usage by key, model, day, month or source: from the sums, and from the journal only for partial
 * days.
 */

import { utcDay } from '../../core/clock.ts';
import { type Period, periodsOf } from '../periods.ts';
import type { MonthFigures, RefusalRow, UsageGroup, UsageQuery, UsageReport, UsageRow } from '../usage.ts';
import type { Sqlite } from './database.ts';
import { ADMISSION_DAY, ADMISSION_MONTH, ROW_FIGURES, SUM_COLUMNS, SUM_FIGURES, SUM_NAMES, sumsOf } from './sql.ts';

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
      .iterate(month) as IterableIterator<MonthRow & { key_id: string }>;
    return new Map(Iterator.from(rows).map((row) => [row.key_id, monthFigures(row)] as const));
  }

  monthsOf(keyIds: readonly string[], month: string): Map<string, MonthFigures> {
    if (keyIds.length > MAX_LOOKUPS) return this.month(month);
    return new Map(keyIds.map((id) => [id, this.monthOf(id, month)]));
  }

  monthOf(keyId: string, month: string): MonthFigures {
    const row = this.#database
      .prepare(`SELECT ${MONTH_SUMS} FROM usage_months WHERE month = ? AND key_id = ?`)
      .safeIntegers()
      .get(month, keyId) as MonthRow;
    return monthFigures(row);
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
      .all(month, keyId) as { code: string; reason: string; requests: number; last_at_ms: number }[];
    return rows.map(({ code, reason, requests, last_at_ms: lastAtMs }) => ({ code, reason, requests, lastAtMs }));
  }

  report(query: UsageQuery): UsageReport {
    const periods = periodsOf(query.sinceMs, query.untilMs, query.by === 'day' ? 'days' : 'months');
    const source = figuresSource(periods, query);
    const group = GROUPS[query.by ?? 'all'];
    const rows = this.#database
      .prepare(`SELECT ${group.columns} ${sumsOf(SUM_FIGURES)} FROM (${source.sql}) AS u ${group.tail}`)
      .safeIntegers()
      .all(source.parameters) as Record<string, bigint | string>[];
    return { rows: rows.map(toRow), droppedDays: periods.flatMap((period) => this.#droppedDays(period)) };
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

const MONTH_SUMS = `${sumsOf(['requests', 'cost_nanos'])}, coalesce(sum(prompt_tokens + completion_tokens), 0) AS tokens`;

interface MonthRow {
  readonly requests: bigint;
  readonly tokens: bigint;
  readonly cost_nanos: bigint;
}

function monthFigures(row: MonthRow): MonthFigures {
  return { requests: Number(row.requests), tokens: Number(row.tokens), costNanos: row.cost_nanos };
}

const GROUPS: Record<UsageGroup | 'all', { columns: string; tail: string }> = {
  all: { columns: '', tail: '' },
  key: {
    columns: 'k.name AS key, u.key_id AS key_id,',
    tail: 'LEFT JOIN keys AS k ON k.id = u.key_id GROUP BY u.key_id ORDER BY cost_nanos DESC, requests DESC, u.key_id',
  },
  model: { columns: 'u.model AS model,', tail: 'GROUP BY u.model ORDER BY cost_nanos DESC, requests DESC, u.model' },
  day: { columns: 'u.day AS day,', tail: 'GROUP BY u.day ORDER BY u.day' },
  month: { columns: 'u.month AS month,', tail: 'GROUP BY u.month ORDER BY u.month' },
  source: {
    columns: 'u.source AS source,',
    tail: 'GROUP BY u.source ORDER BY cost_nanos DESC, requests DESC, u.source',
  },
};

interface Source {
  readonly sql: string;
  readonly parameters: Record<string, string | number>;
}

/** The query for the rows to be summed. */
function figuresSource(periods: readonly Period[], query: UsageQuery): Source {
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
  const parts = periods.map((period, index) => {
    parameters[`from${index}`] = period.from;
    parameters[`to${index}`] = period.to;
    const { select, time } = SOURCES[period.kind];
    return `${select} WHERE ${[`${time} >= $from${index}`, `${time} < $to${index}`, ...filters].join(' AND ')}`;
  });
  return { sql: parts.join(' UNION ALL ') || NOTHING, parameters };
}

const SOURCES: Readonly<Record<Period['kind'], { select: string; time: string }>> = {
  months: {
    select: `SELECT NULL AS day, month, ${SUM_COLUMNS} FROM usage_months`,
    time: 'month',
  },
  days: {
    select: `SELECT day, substr(day, 1, 7) AS month, ${SUM_COLUMNS} FROM usage_days`,
    time: 'day',
  },
  moments: {
    select: `SELECT ${ADMISSION_DAY} AS day, ${ADMISSION_MONTH} AS month, ${SUM_NAMES}, ${ROW_FIGURES} FROM journal`,
    time: 'admitted_at_ms',
  },
};

/** The query for an empty range. */
const NOTHING = `${SOURCES.days.select} WHERE false`;

function toRow(row: Record<string, bigint | string>): UsageRow {
  const text = (value: bigint | string | undefined) => (typeof value === 'string' ? value : undefined);
  return {
    key: text(row.key),
    keyId: text(row.key_id),
    model: text(row.model),
    day: text(row.day),
    month: text(row.month),
    source: text(row.source),
    requests: Number(row.requests),
    errors: Number(row.errors),
    promptTokens: Number(row.prompt_tokens),
    cachedTokens: Number(row.cached_tokens),
    cacheWriteTokens: Number(row.cache_write_tokens),
    completionTokens: Number(row.completion_tokens),
    costNanos: row.cost_nanos as bigint,
  };
}
