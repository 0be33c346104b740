/**
 * Single requests: those in the journal, those in flight, and the correction of one that was
 * charged as held.
 */

import { utcDay, utcMonth } from '../../core/clock.ts';
import type { Nanos } from '../../core/money.ts';
import {
  type Correction,
  mayBeCompletionId,
  type RequestPage,
  type RequestPageQuery,
  type RequestQuery,
  type RequestRecord,
  requestIdOf,
} from '../requests.ts';
import { type Row, requestOf } from '../rows.ts';
import { IS_ERROR } from '../sql.ts';
import { correctSteps } from './budgets.ts';
import { immediately, type Sqlite } from './database.ts';

const ENDED = `SELECT j.*, coalesce(k.name, j.key_id) AS key FROM journal AS j LEFT JOIN keys AS k ON k.id = j.key_id`;
const OPEN = `SELECT h.*, coalesce(k.name, h.key_id) AS key FROM holds AS h LEFT JOIN keys AS k ON k.id = h.key_id`;

const LATEST_FIRST = 'ORDER BY j.admitted_at_ms DESC, j.id DESC';
/** How much of the journal a page walks through: 20,000 rows take some 10 ms. */
const MAX_WALKED = 20_000;
const AFTER_ALL_ROWS = 2n ** 63n - 1n;

interface Place {
  readonly admitted_at_ms: bigint;
  readonly id: bigint;
}

export class RequestStore {
  readonly #database: Sqlite;

  constructor(database: Sqlite) {
    this.#database = database;
  }

  list({ keyId, sinceMs, errors, limit }: RequestQuery): RequestRecord[] {
    const filters = [
      'j.admitted_at_ms >= $since',
      ...(keyId === undefined ? [] : ['j.key_id = $key']),
      ...(errors ? [IS_ERROR] : []),
    ];
    const sql = `${ENDED} WHERE ${filters.join(' AND ')} ${LATEST_FIRST} LIMIT $limit`;
    const parameters = { since: sinceMs ?? 0, limit, ...(keyId !== undefined && { key: keyId }) };
    return (this.#database.prepare(sql).safeIntegers().all(parameters) as Row[]).map(requestOf);
  }

  page({ keyId, sinceMs, untilMs, errors, limit, after }: RequestPageQuery): RequestPage {
    const within = [
      'j.admitted_at_ms >= $since AND j.admitted_at_ms <= $last',
      '(j.admitted_at_ms, j.id) < ($last, $row)',
    ].join(' AND ');
    const last = Math.min(after?.admittedAtMs ?? Number.MAX_SAFE_INTEGER, (untilMs ?? Number.MAX_SAFE_INTEGER) - 1);
    const row = after !== undefined && last === after.admittedAtMs ? after.row : AFTER_ALL_ROWS;
    const range = { since: sinceMs ?? 0, last, row };
    const edge = this.#database
      .prepare(`SELECT j.admitted_at_ms, j.id FROM journal AS j WHERE ${within} ${LATEST_FIRST} LIMIT 1 OFFSET $walked`)
      .safeIntegers()
      .get({ ...range, walked: MAX_WALKED - 1 }) as Place | undefined;
    const filters = [
      within,
      ...(edge === undefined ? [] : ['(j.admitted_at_ms, j.id) >= ($edge, $edgeRow)']),
      ...(keyId === undefined ? [] : ['j.key_id = $key']),
      ...(errors ? [IS_ERROR] : []),
    ];
    const found = this.#database
      .prepare(`${ENDED} WHERE ${filters.join(' AND ')} ${LATEST_FIRST} LIMIT $limit`)
      .safeIntegers()
      .all({
        ...range,
        limit,
        ...(edge !== undefined && { edge: edge.admitted_at_ms, edgeRow: edge.id }),
        ...(keyId !== undefined && { key: keyId }),
      }) as (Row & Place)[];
    const end = found.length === limit ? found.at(-1) : edge;
    return {
      rows: found.map(requestOf),
      next: end && { admittedAtMs: Number(end.admitted_at_ms), row: end.id },
    };
  }

  countOpen(keyId: string): number {
    return this.#database.prepare('SELECT count(*) FROM holds WHERE key_id = ?').pluck().get(keyId) as number;
  }

  find(id: string): RequestRecord | undefined {
    return (
      this.#findByRequestId(requestIdOf(id)) ??
      (mayBeCompletionId(id)
        ? this.#one(`${ENDED} WHERE j.completion_id = ? ORDER BY j.id DESC LIMIT 1`, id)
        : undefined)
    );
  }

  correct(id: string, costNanos: Nanos, wallMs: number): Correction {
    // Before the lock is taken: scanning the journal must not block the gateway.
    const found = this.find(id);
    if (found === undefined) return { kind: 'no_such_request' };
    return immediately(this.#database, () => {
      const request = this.#findByRequestId(found.id);
      if (request === undefined) return { kind: 'no_such_request' };
      if (request.end === undefined) return { kind: 'in_flight' };
      const { source } = request.end;
      if (source !== 'held') return { kind: 'not_held', source };
      this.#charge(request, request.end.settledAtMs, costNanos - request.end.costNanos);
      this.#database
        .prepare('UPDATE journal SET cost_nanos = ?, corrected_at_ms = ? WHERE request_id = ?')
        .run(costNanos, wallMs, request.id);
      return { kind: 'done', request: this.#findByRequestId(request.id) as RequestRecord };
    });
  }

  /**
   * Adds an amount, possibly negative, to the cost of a held request in the sums and the balance.
   */
  #charge({ keyId, model, admittedAtMs }: RequestRecord, settledAtMs: number, nanos: Nanos): void {
    const changes = [
      ['usage_days', 'day', utcDay(admittedAtMs)],
      ['usage_months', 'month', utcMonth(admittedAtMs)],
    ] as const;
    for (const [table, period, value] of changes) {
      this.#database
        .prepare(
          `UPDATE ${table} SET cost_nanos = cost_nanos + ? WHERE ${period} = ? AND key_id = ? AND model = ? AND source = 'held'`,
        )
        .run(nanos, value, keyId, model);
    }
    correctSteps(this.#database, keyId, settledAtMs, nanos);
    this.#database.prepare('UPDATE account SET balance_nanos = balance_nanos - ?').run(nanos);
  }

  #findByRequestId(id: string): RequestRecord | undefined {
    return this.#one(`${ENDED} WHERE j.request_id = ?`, id) ?? this.#one(`${OPEN} WHERE h.request_id = ?`, id);
  }

  #one(sql: string, id: string): RequestRecord | undefined {
    const row = this.#database.prepare(sql).safeIntegers().get(id) as Row | undefined;
    return row && requestOf(row);
  }
}
