/** A database for tests of the operator's side. */
import assert from 'node:assert/strict';
import pg from 'pg';
import { type PostgresAddress, parsePostgresAddress } from '../../src/core/postgres-address.ts';
import type { StateLocation } from '../../src/core/state-location.ts';
import { type HoldRow, LEVELS, SETTLEMENT } from '../../src/state/journal.ts';
import { openState } from '../../src/state/open.ts';
import { arraysFor } from '../../src/state/postgres/batch.ts';
import type { OpenState } from '../../src/state/state.ts';
import type { RefusalCount } from '../../src/state/usage.ts';
import type { Cleanup, End, Stage } from './stage.ts';

/** Ends one request with the functions of the ledger, and counts it wherever the ledger does. */
const SETTLE = `UPDATE inf_gw.account SET balance_nanos = balance_nanos - e.charged, held_nanos = held_nanos - e.released
  FROM inf_gw.end_holds(1, $1, ${SETTLEMENT.columns.map((_, at) => `$${at + 2}`).join(', ')}) e`;

const FIGURES = 'requests, errors, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, cost_nanos';
const SUMS = FIGURES.replaceAll(/(\w+)/g, 'sum($1) AS $1');
const BY_DAY = `SELECT to_char(to_timestamp(admitted_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, key_id, model,
    source, 1 AS requests, CASE WHEN outcome IN ('ok', 'cancelled') THEN 0 ELSE 1 END AS errors, prompt_tokens,
    cached_tokens, coalesce(cache_write_tokens, 0) AS cache_write_tokens, completion_tokens, cost_nanos FROM inf_gw.journal
  UNION ALL SELECT day, key_id, model, source, ${FIGURES} FROM inf_gw.sealed_days`;

/** One test after the other uses it: to connect, and to have the first of each query planned, costs the database more than a test. */
export class DatabaseStage implements Stage {
  readonly state: OpenState;
  readonly #location: StateLocation;
  readonly #client: pg.Client;
  #test: Cleanup | undefined;

  static async connect(url: string): Promise<DatabaseStage> {
    const location = locationOf(url);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return new DatabaseStage(location, await openState(location, 'full'), client);
  }

  private constructor(location: StateLocation, state: OpenState, client: pg.Client) {
    this.#location = location;
    this.state = state;
    this.#client = client;
  }

  /** Empties the database for the next test. */
  async emptiedFor(test: Cleanup): Promise<DatabaseStage> {
    this.#test = test;
    await this.#empty();
    return this;
  }

  async close(): Promise<void> {
    await this.state.close();
    await this.#client.end();
  }

  async open(): Promise<OpenState> {
    const state = await openState(this.#location, 'full');
    this.#test?.after(() => state.close());
    return state;
  }

  async hold(hold: HoldRow): Promise<void> {
    const { requestId, keyId, model, admittedAtMs, inputTokens, outputTokens, holdNanos } = hold;
    const us = admittedAtMs * 1_000;
    const levels = LEVELS.flat(hold.levels);
    await this.#client.query(
      `INSERT INTO inf_gw.holds (request_id, node_id, key_id, model, admitted_us, input_tokens, output_tokens,
         reserved_tokens, hold_nanos, price, levels) VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [
        requestId,
        keyId,
        model,
        us,
        inputTokens,
        outputTokens,
        inputTokens + outputTokens,
        holdNanos,
        hold.price,
        levels,
      ],
    );
    await this.#client.query('UPDATE inf_gw.account SET held_nanos = held_nanos + $1', [holdNanos]);
  }

  async settle({ requestId }: HoldRow, end: End, wallMs: number): Promise<void> {
    await this.#client.query(SETTLE, [wallMs * 1_000, ...arraysFor(SETTLEMENT, [{ ...end, requestId }])]);
  }

  async refuse(refusals: readonly RefusalCount[]): Promise<void> {
    for (const { month, keyId, code, reason, requests, lastAtMs } of refusals) {
      const columns = [month, keyId, code, reason, requests, lastAtMs].map((value) => [value]);
      await this.#client.query('SELECT inf_gw.count_refusals($1, $2, $3, $4, $5, $6)', columns);
    }
  }

  async dropOldRows(beforeMs: number): Promise<void> {
    await this.#client.query('SELECT inf_gw.drop_old_rows($1, 1000000)', [beforeMs]);
  }

  async write(statement: string): Promise<void> {
    await this.#client.query(statement.replaceAll(/\{(\w+)\}/g, 'inf_gw.$1'));
  }

  async dump(): Promise<Readonly<Record<string, readonly unknown[]>>> {
    const tables: Record<string, readonly unknown[]> = {};
    // But for what tells gateways of each change.
    for (const name of (await this.#tables()).filter((name) => !['log', 'account'].includes(name))) {
      tables[name] = (await this.#client.query(`SELECT * FROM inf_gw.${name} t ORDER BY t::text COLLATE "C"`)).rows;
    }
    tables.account = (await this.#client.query('SELECT balance_nanos, held_nanos FROM inf_gw.account')).rows;
    return tables;
  }

  async assertSound(): Promise<void> {
    const rows = async (text: string) => (await this.#client.query(text)).rows;
    const [account] = await rows(`SELECT balance_nanos, held_nanos,
      (SELECT coalesce(sum(amount_nanos), 0) FROM inf_gw.credit_entries)
        - (SELECT coalesce(sum(cost_nanos), 0) FROM (${BY_DAY}) d)::bigint AS expected,
      (SELECT coalesce(sum(hold_nanos), 0) FROM inf_gw.holds)::bigint AS expected_held FROM inf_gw.account`);
    assert.equal(account?.balance_nanos, account?.expected, 'the balance is not credit minus costs');
    assert.equal(account?.held_nanos, account?.expected_held, 'the account does not know what is held');
    for (const [table, period, value] of [
      ['usage_days', 'day', 'day'],
      ['usage_months', 'month', 'substr(day, 1, 7)'],
    ] as const) {
      const names = `${period}, key_id, model, source`;
      const stored = await rows(`SELECT ${names}, ${SUMS} FROM inf_gw.${table} GROUP BY ${names} ORDER BY ${names}`);
      const expected = `SELECT ${value} AS ${names}, ${SUMS} FROM (${BY_DAY}) d GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`;
      assert.deepEqual(stored, await rows(expected), `the sums by ${period} do not match the requests`);
    }
  }

  async #empty(): Promise<void> {
    const tables = (await this.#tables()).filter((name) => name !== 'migrations' && name !== 'account');
    // There are few rows: to truncate would take longer.
    await this.#client.query(`${tables.map((name) => `DELETE FROM inf_gw.${name};`).join(' ')}
      UPDATE inf_gw.account SET balance_nanos = 0, held_nanos = 0, seq = 0`);
  }

  async #tables(): Promise<string[]> {
    const text = "SELECT tablename FROM pg_tables WHERE schemaname = 'inf_gw' ORDER BY 1";
    return (await this.#client.query<{ tablename: string }>(text)).rows.map(({ tablename }) => tablename);
  }
}

export function addressOf(url: string): PostgresAddress {
  const parsed = parsePostgresAddress(url, '/');
  assert.ok(parsed.kind === 'address');
  return parsed.address;
}

/** Where a state is, by its address. */
export function locationOf(url: string): StateLocation {
  return { kind: 'postgres', address: addressOf(url) };
}
