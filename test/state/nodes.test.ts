/** The gateways of a database as operators read them, and what they have in flight. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Nodes } from '../../src/state/nodes.ts';
import { openState } from '../../src/state/open.ts';
import { grantsFor } from '../../src/state/postgres/rights.ts';
import type { OpenState } from '../../src/state/state.ts';
import { PostgresServer } from '../support/postgres.ts';
import { locationOf } from './database-stage.ts';
import { FileStage } from './file-stage.ts';
import { makeKey } from './stage.ts';

const HOUR_US = 3_600_000_000;

test('a state file has no gateways to tell of', async (t) => {
  assert.equal((await FileStage.open(t)).state.nodes, undefined);
});

describe('of the gateways of a database', () => {
  let server: PostgresServer;
  let state: OpenState;
  let nodes: Nodes;
  let keyId: string;
  const query = (text: string) => server.query(text, 'gateway_1');

  before(async () => {
    server = await PostgresServer.start();
    state = await openState(locationOf(await server.createDatabase()), 'full');
    assert.ok(state.nodes !== undefined);
    nodes = state.nodes;
    keyId = (await makeKey(state, { name: 'app' })).id;
  });
  after(async () => {
    await state.close();
    await server.stop();
  });
  beforeEach(() => query('TRUNCATE inf_gw.nodes, inf_gw.holds, inf_gw.stops, inf_gw.journal RESTART IDENTITY'));

  /** A gateway that was heard of that long ago, or stopped then. */
  async function node(name: string, agoUs: number, isStopped = false): Promise<void> {
    const [alive, stopped] = isStopped ? ['0', `inf_gw.now_us() - ${agoUs}`] : [`inf_gw.now_us() - ${agoUs}`, '0'];
    await query(`INSERT INTO inf_gw.nodes (name, instance, version, address, epoch, started_at_ms, alive_us, stopped_us,
      requests, tokens) VALUES ('${name}', 'i', '1.2.3', 'h:1', 1, 1700000000000, ${alive}, ${stopped}, 7, 70)`);
  }

  async function hold(id: string, nodeId: number, admittedUs: number, nanos: number): Promise<void> {
    await query(`INSERT INTO inf_gw.holds (request_id, node_id, key_id, model, admitted_us, input_tokens, output_tokens,
      reserved_tokens, hold_nanos) VALUES ('${id}', ${nodeId}, '${keyId}', 'm', ${admittedUs}, 1, 1, 2, ${nanos})`);
  }

  test('those alive come first, each with its state and figures', async () => {
    await node('b', 1_000);
    await node('a', 20_000_000);
    await node('c', 3_000_000);
    await node('d', 60_000_000, true);
    await hold('req_1', 1, 1_000, 30);
    await hold('req_2', 1, 2_000, 12);
    const list = await nodes.list();
    const shown = list.map((each) => [each.name, each.state, each.requestsPerMin, each.tokensPerMin]);
    assert.deepEqual(shown, [
      ['b', 'alive', 7, 70],
      ['c', 'alive', 7, 70],
      ['a', 'silent', 0, 0],
      ['d', 'stopped', 0, 0],
    ]);
    assert.deepEqual(
      list.map(({ inFlight, heldNanos }) => [inFlight, heldNanos]),
      [[2, 42n], ...Array(3).fill([0, 0n])],
    );
    const { seenAtMs, ...rest } = list[3] as (typeof list)[number];
    assert.deepEqual([rest.version, rest.address, rest.startedAtMs], ['1.2.3', 'h:1', 1_700_000_000_000]);
    assert.ok(Math.abs(Date.now() - 60_000 - seenAtMs) < 50_000);
  });

  test('those not heard of for a day are left out, unless they have something in flight', async () => {
    await node('old', 25 * HOUR_US);
    await node('old and busy', 25 * HOUR_US);
    await node('stopped long ago', 25 * HOUR_US, true);
    await node('silent', 23 * HOUR_US);
    await hold('req_1', 2, 1_000, 30);
    assert.deepEqual(
      (await nodes.list()).map(({ name }) => name),
      ['old and busy', 'silent'],
    );
  });

  test('a crowd is listed in part', async () => {
    await query(`INSERT INTO inf_gw.nodes (name, instance, version, address, epoch, started_at_ms, alive_us)
      SELECT 'n' || i, 'i', 'v', 'a', 1, 1, inf_gw.now_us() - CASE WHEN i < 950 THEN 9000000 ELSE 0 END
      FROM generate_series(1, 1000) AS i`);
    const list = await nodes.list();
    assert.equal(list.length, 200);
    assert.equal(list.filter(({ state }) => state === 'alive').length, 51);
  });

  test('the history is that of one of them, or of all if there is none of that name', async () => {
    await node('a', 0);
    await node('b', 0);
    await query(`INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
        prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos, node_id)
      SELECT i, 'req_' || i, '${keyId}', 'm', 1000 + i, 2000, 'ok', 'reported', i, 0, 0, 0, 0, 0, nullif(i % 3, 0)
      FROM generate_series(1, 9) AS i`);
    const tokensOf = async (name: string) => {
      const query = { sinceMs: 0, before: { admittedAtMs: 5_000, row: 0n }, node: name, limit: 8 };
      const { rows, next } = await state.history.slice(query);
      assert.deepEqual(next, { admittedAtMs: 1_002, row: 2n });
      return rows.map(({ tokens }) => tokens);
    };
    // Of the third ones it is not known who served them.
    assert.deepEqual(await tokensOf('a'), [9, 7, 6, 4, 3]);
    assert.deepEqual(await tokensOf('b'), [9, 8, 6, 5, 3, 2]);
    assert.deepEqual(await tokensOf('elsewhere'), [9, 8, 7, 6, 5, 4, 3, 2]);
  });

  test('the requests in flight come oldest first, and no more than asked for', async () => {
    await node('a', 0);
    await node('b', 0);
    await hold('req_3', 1, 3_000_000, 3);
    await hold('req_1', 2, 1_000_000, 1);
    await hold('req_2', 9, 2_000_000, 2);
    const open = await nodes.openRequests(10);
    assert.deepEqual(
      open.map(({ id, node, key, admittedAtMs, holdNanos, end }) => [id, node, key, admittedAtMs, holdNanos, end]),
      [
        ['req_1', 'b', 'app', 1_000, 1n, undefined],
        ['req_2', undefined, 'app', 2_000, 2n, undefined],
        ['req_3', 'a', 'app', 3_000, 3n, undefined],
      ],
    );
    assert.deepEqual(await nodes.openRequests(1), open.slice(0, 1));
  });

  test('the activity of keys is that of the last minute, on all of them', async () => {
    const other = (await makeKey(state)).id;
    const ended = [
      [keyId, 'a', 59_000, 10],
      [keyId, 'b', 10, 20],
      [keyId, 'c', 61_000, 1_000],
      [other, 'd', 10, 1],
    ].map(([id, request, ago, tokens]) => {
      const at = `inf_gw.now_us() / 1000 - ${ago}`;
      return `(0, '${request}', '${id}', 'm', ${at}, ${at}, 'ok', 'held', ${tokens}, 0, 0, 0, 0, 0)`;
    });
    await query(`INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source,
      prompt_tokens, cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos) VALUES ${ended.join()}`);
    await query(`INSERT INTO inf_gw.holds (request_id, node_id, key_id, model, admitted_us, input_tokens, output_tokens,
      reserved_tokens, hold_nanos) VALUES ('e', 1, '${keyId}', 'm', inf_gw.now_us(), 1, 1, 7, 1)`);
    const expected = [
      { keyId, requests: 3, tokens: 37, open: 1 },
      { keyId: other, requests: 1, tokens: 1, open: 0 },
    ];
    assert.deepEqual(await nodes.busiest(10), expected);
    assert.deepEqual(await nodes.busiest(1), expected.slice(0, 1));
    assert.deepEqual(await nodes.activityOf([keyId]), expected.slice(0, 1));
    assert.deepEqual(await nodes.activityOf([]), []);
  });

  test('one is told to stop a request, once or twice, but none that is not in flight', async () => {
    await hold('req_1', 4, 1_000, 1);
    for (const id of ['req_2', '', 'a\u0000b', "' OR true --"]) assert.equal(await nodes.stopRequest(id), false, id);
    assert.deepEqual(await query('SELECT * FROM inf_gw.stops'), []);
    assert.deepEqual([await nodes.stopRequest('req_1'), await nodes.stopRequest('req_1')], [true, true]);
    assert.deepEqual(await query('SELECT request_id, node_id FROM inf_gw.stops'), [
      { request_id: 'req_1', node_id: 4 },
    ]);
    await query('TRUNCATE inf_gw.holds');
    assert.equal(await nodes.stopRequest('req_1'), false);
  });

  test('a role with no more than a gateway needs may read everything, and stop nothing', async () => {
    await query("CREATE ROLE reader LOGIN PASSWORD 'p'");
    for (const grant of grantsFor('reader')) await query(grant);
    const url = new URL(server.url('gateway_1'));
    Object.assign(url, { username: 'reader', password: 'p' });
    const reader = await openState(locationOf(url.href), 'full');
    try {
      const theirs = reader.nodes as Nodes;
      await node('a', 0);
      await hold('req_1', 1, 1_000, 1);
      assert.deepEqual(await theirs.list(), await nodes.list());
      assert.deepEqual(await theirs.openRequests(9), await nodes.openRequests(9));
      assert.deepEqual(await theirs.busiest(9), await nodes.busiest(9));
      assert.deepEqual(await theirs.activityOf([keyId]), await nodes.activityOf([keyId]));
      await assert.rejects(
        reader.run(() => theirs.stopRequest('req_1')),
        { name: 'UserError' },
      );
    } finally {
      await reader.close();
    }
  });
});
