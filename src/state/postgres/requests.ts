/** Single requests in the database, and the correction of one that was charged as held. */
import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import { type Correction, type RequestQuery, type RequestRecord, type Requests, requestIdOf } from '../requests.ts';
import { requestOf } from '../rows.ts';
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

  async list({ keyId, sinceMs, errors, limit }: RequestQuery): Promise<readonly RequestRecord[]> {
    const filters = [
      'j.admitted_at_ms >= $1',
      ...(errors ? [IS_ERROR] : []),
      ...(keyId === undefined ? [] : ['j.key_id = $3']),
    ];
    const text = `${ENDED} WHERE ${filters.join(' AND ')} ORDER BY j.admitted_at_ms DESC, j.id DESC LIMIT $2`;
    const values = [sinceMs ?? 0, limit, ...(keyId === undefined ? [] : [keyId])];
    return (await this.#database.run(text, values)).map(requestOf);
  }

  async find(id: string): Promise<RequestRecord | undefined> {
    const { run } = this.#database;
    return (
      (await findByRequestId(run, requestIdOf(id))) ??
      (await one(run, `${ENDED} WHERE j.completion_id = $1 ORDER BY j.id DESC LIMIT 1`, id))
    );
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
      await charge(run, request, costNanos - request.end.costNanos);
      await run(
        'UPDATE inf_gw.journal SET cost_nanos = $1, corrected_at_ms = $2 WHERE request_id = $3 AND admitted_at_ms = $4',
        [costNanos, wallMs, request.id, request.admittedAtMs],
      );
      return { kind: 'done', request: (await findByRequestId(run, request.id)) as RequestRecord };
    });
  }
}

/** Adds an amount, possibly negative, to the cost of a held request wherever it was charged. */
async function charge(run: Run, { keyId, model, admittedAtMs }: RequestRecord, nanos: Nanos): Promise<void> {
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
  await run('UPDATE inf_gw.account SET balance_nanos = balance_nanos - $1', [nanos]);
}

async function findByRequestId(run: Run, id: string): Promise<RequestRecord | undefined> {
  return (await one(run, `${ENDED} WHERE j.request_id = $1`, id)) ?? one(run, `${OPEN} WHERE h.request_id = $1`, id);
}

async function one(run: Run, text: string, id: string): Promise<RequestRecord | undefined> {
  // Text in PostgreSQL has no zero bytes, and so no id has one.
  if (id.includes('\0')) return undefined;
  const [row] = await run(text, [id]);
  return row && requestOf(row);
}
