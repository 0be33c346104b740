/** Single requests in the database, and the correction of one that was charged as held. */
import { DAY_MS, utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { monthStart } from '../periods.ts';
import {
  type Correction,
  type JournalPlace,
  mayBeCompletionId,
  type RequestPage,
  type RequestPageQuery,
  type RequestQuery,
  type RequestRecord,
  type Requests,
  requestIdOf,
} from '../requests.ts';
import { type Row, requestOf } from '../rows.ts';
import { IS_ERROR } from '../sql.ts';
import type { Database, Run } from './database.ts';

const ENDED = `SELECT j.*, coalesce(k.name, j.key_id) AS key, n.name AS node FROM inf_gw.journal AS j
  LEFT JOIN inf_gw.keys AS k ON k.id = j.key_id LEFT JOIN inf_gw.nodes AS n ON n.id = j.node_id`;
export const OPEN = `SELECT h.*, h.admitted_us / 1000 AS admitted_at_ms, coalesce(k.name, h.key_id) AS key,
    n.name AS node FROM inf_gw.holds AS h
  LEFT JOIN inf_gw.keys AS k ON k.id = h.key_id LEFT JOIN inf_gw.nodes AS n ON n.id = h.node_id`;

export class PostgresRequests implements Requests {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async list(query: RequestQuery): Promise<readonly RequestRecord[]> {
    const found: RequestRecord[] = [];
    for (const stretch of await stretchesOf(this.#database.run, query)) {
      if (found.length === query.limit) break;
      found.push(...(await this.#listWithin(stretch, { ...query, limit: query.limit - found.length })));
    }
    return found;
  }

  /** The database walks by itself: nothing here waits for it. */
  async page(query: RequestPageQuery): Promise<RequestPage> {
    const { after, untilMs, limit } = query;
    const found: Row[] = [];
    for (const { fromMs, toMs } of await stretchesOf(this.#database.run, query)) {
      if (found.length === limit) break;
      const stretch = { fromMs, toMs: Math.min(toMs, untilMs ?? toMs) };
      if (fromMs > (after?.admittedAtMs ?? fromMs) || fromMs >= stretch.toMs) continue;
      found.push(...(await this.#rowsWithin(stretch, { ...query, limit: limit - found.length }, after)));
    }
    const end = found.length === limit ? found.at(-1) : undefined;
    return {
      rows: found.map(requestOf),
      next: end && { admittedAtMs: Number(end.admitted_at_ms), row: BigInt(end.id ?? 0) },
    };
  }

  async countOpen(keyId: string): Promise<number> {
    const text = 'SELECT count(*) AS requests FROM inf_gw.holds WHERE key_id = $1';
    return Number((await this.#database.run(text, [keyId]))[0]?.requests);
  }

  async find(id: string): Promise<RequestRecord | undefined> {
    const { run } = this.#database;
    return (
      (await findByRequestId(run, requestIdOf(id))) ?? (mayBeCompletionId(id) ? findByCompletionId(run, id) : undefined)
    );
  }

  async #listWithin(stretch: Stretch, query: RequestQuery): Promise<RequestRecord[]> {
    return (await this.#rowsWithin(stretch, query, undefined)).map(requestOf);
  }

  async #rowsWithin(
    { fromMs, toMs }: Stretch,
    { keyId, sinceMs, errors, limit }: RequestQuery,
    after: JournalPlace | undefined,
  ): Promise<Row[]> {
    const values: (bigint | number | string)[] = [Math.max(fromMs, sinceMs ?? 0), toMs, limit];
    const place = (value: bigint | number | string) => `$${values.push(value)}`;
    const filters = [
      'j.admitted_at_ms >= $1 AND j.admitted_at_ms < $2',
      ...(errors ? [IS_ERROR] : []),
      ...(keyId === undefined ? [] : [`j.key_id = ${place(keyId)}`]),
      ...(after === undefined
        ? []
        : [`(j.admitted_at_ms, j.id) < (${place(after.admittedAtMs)}, ${place(after.row)})`]),
    ];
    const text = `${ENDED} WHERE ${filters.join(' AND ')} ORDER BY j.admitted_at_ms DESC, j.id DESC LIMIT $3`;
    return this.#database.run(text, values);
  }

  async correct(id: string, costNanos: Nanos, wallMs: number): Promise<Correction> {
    // Before the lock is taken: scanning the journal must not block the gateways.
    const found = await this.find(id);
    if (found === undefined) return { kind: 'no_such_request' };
    return this.#database.transaction(async (run) => {
      await run('SELECT FROM inf_gw.account FOR UPDATE');
      // A gateway may be dropping the row because of its age.
      await run('SELECT FROM inf_gw.journal WHERE request_id = $1 FOR UPDATE', [found.id]);
      const request = await findByRequestId(run, found.id);
      if (request === undefined) return { kind: 'no_such_request' };
      if (request.end === undefined) return { kind: 'in_flight' };
      const { source } = request.end;
      if (source !== 'held') return { kind: 'not_held', source };
      await charge(run, request, request.end.settledAtMs, costNanos - request.end.costNanos);
      await run(
        'UPDATE inf_gw.journal SET cost_nanos = $1, corrected_at_ms = $2 WHERE request_id = $3 AND admitted_at_ms = $4',
        [costNanos, wallMs, request.id, request.admittedAtMs],
      );
      return { kind: 'done', request: (await findByRequestId(run, request.id)) as RequestRecord };
    });
  }
}

/** A part of the journal, by admission. */
interface Stretch {
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
}

const EVERYTHING: Stretch = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

/**
 * Where in the journal there are such requests, latest first. The sums tell, so that a list of few
 * requests does not read millions of others.
 */
async function stretchesOf(run: Run, query: Omit<RequestQuery, 'limit'>): Promise<Stretch[]> {
  const { keyId, sinceMs = 0, errors } = query;
  if (keyId === undefined) return errors ? monthsWith(run, 'errors > 0', sinceMs) : [EVERYTHING];
  const text = `SELECT DISTINCT day FROM inf_gw.usage_days WHERE key_id = $1 AND day >= $2 ${errors ? 'AND errors > 0' : ''}
    ORDER BY day DESC`;
  const days = (await run(text, [keyId, utcDay(sinceMs)])).map(({ day }) => Date.parse(day as string));
  return days.map((fromMs) => ({ fromMs, toMs: fromMs + DAY_MS }));
}

async function monthsWith(run: Run, condition: string, sinceMs: number): Promise<Stretch[]> {
  const text = `SELECT DISTINCT month FROM inf_gw.usage_months WHERE month >= $1 AND ${condition} ORDER BY month DESC`;
  const months = (await run(text, [utcMonth(sinceMs)])).map(({ month }) => Date.parse(month as string));
  return months.map((fromMs) => ({ fromMs, toMs: monthStart(fromMs, 1) }));
}

/** Adds an amount, possibly negative, to the cost of a held request wherever it was charged. */
async function charge(
  run: Run,
  { keyId, model, admittedAtMs }: RequestRecord,
  settledAtMs: number,
  nanos: Nanos,
): Promise<void> {
  const changes = [
    ['usage_days', 'day', utcDay(admittedAtMs)],
    ['usage_months', 'month', utcMonth(admittedAtMs)],
  ] as const;
  for (const [table, period, value] of changes) {
    await run(
      `UPDATE inf_gw.${table} SET cost_nanos = cost_nanos + $1
         WHERE ${period} = $2 AND key_id = $3 AND model = $4 AND source = 'held'`,
      [nanos, value, keyId, model],
    );
  }
  await run('UPDATE inf_gw.key_state SET charged_nanos = charged_nanos + $1 WHERE key_id = $2 AND month = $3', [
    nanos,
    keyId,
    utcMonth(admittedAtMs),
  ]);
  await run('SELECT inf_gw.add_to_steps($1, $2, $3)::text', [keyId, settledAtMs, nanos]);
  await run('UPDATE inf_gw.account SET balance_nanos = balance_nanos - $1', [nanos]);
}

async function findByRequestId(run: Run, id: string): Promise<RequestRecord | undefined> {
  return (await one(run, `${ENDED} WHERE j.request_id = $1`, id)) ?? one(run, `${OPEN} WHERE h.request_id = $1`, id);
}

/** There is no index of these ids, which would cost each request: months are read one by one, latest first. */
async function findByCompletionId(run: Run, id: string): Promise<RequestRecord | undefined> {
  const text = `${ENDED} WHERE j.completion_id = $1 AND j.admitted_at_ms >= $2 AND j.admitted_at_ms < $3
    ORDER BY j.id DESC LIMIT 1`;
  for (const { fromMs, toMs } of await monthsWith(run, 'true', 0)) {
    const found = await one(run, text, id, fromMs, toMs);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function one(run: Run, text: string, id: string, ...values: number[]): Promise<RequestRecord | undefined> {
  // Text in PostgreSQL has no zero bytes, and so no id has one.
  if (id.includes('\0')) return undefined;
  const [row] = await run(text, [id, ...values]);
  return row && requestOf(row);
}
