/**
 * The connection limit: idle connections make room, surplus ones get an error and are closed, and
 * those in use are served.
 */
import assert from 'node:assert/strict';
import test, { afterEach, beforeEach, describe } from 'node:test';
import { SURPLUS_CONNECTIONS } from '../../src/http/connection-limiter.ts';
import { answering, completion } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const MOST = 3;
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

describe('at the connection limit', () => {
  let gateway: TestGateway;
  let taken: RawConnection[];

  beforeEach(async () => {
    gateway = await startTestGateway({ config: { max_connections: MOST } });
    taken = await many(gateway, MOST);
  });

  afterEach(() => gateway.stop());

  test('accepted connections are served', async () => {
    const key = gateway.key();
    gateway.upstream.follow(answering(completion('hi')));
    for (const connection of taken) {
      connection.send(gateway.rawCompletion(key, chat()));
      assert.equal((await connection.answer()).status, 200);
    }
  });

  test('a request on a surplus connection gets 429, takes nothing, and the connection is closed', async () => {
    const key = gateway.key();
    const connection = await RawConnection.open(gateway.port);
    connection.send(gateway.rawCompletion(key, chat()));
    const answer = await connection.answer();
    assertError(answer, 429, 'rate_limited');
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.rest(), '');
    assert.equal(gateway.upstream.calls.length, 0);
    assert.deepEqual(gateway.rows(key), []);
    taken[0]?.leave();
    const [next] = await served(gateway, 1);
    next?.send(`GET /v1/nothing HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`);
    assert.equal(ratesOf((await (next as RawConnection).answer()).headers).remainingRequests, 600);
  });

  test('a health check on a surplus connection is answered', async () => {
    const connection = await RawConnection.open(gateway.port);
    connection.send(PROBE);
    assert.equal((await connection.answer()).status, 200);
    assert.equal(await connection.rest(), '');
  });

  test('a surplus connection with an unknown expectation is closed too', async () => {
    const connection = await RawConnection.open(gateway.port);
    connection.send('GET /v1/models HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n');
    const answer = await connection.answer();
    assertError(answer, 417, 'invalid_request');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.rest(), '');
  });

  test('a silent surplus connection is closed long before its header timeout', async () => {
    const connection = await RawConnection.open(gateway.port);
    assert.equal(await connection.rest(), '');
  });

  test('connections beyond the surplus are closed without a response', async () => {
    const spare = await many(gateway, SURPLUS_CONNECTIONS);
    const late = await RawConnection.open(gateway.port);
    late.send(PROBE);
    assert.equal(await late.rest(), '');
    for (const connection of spare) connection.leave();
  });

  test('the longest idle connection makes room for a new one, and none that is in use does', async () => {
    const key = gateway.key();
    const [busy, first, second] = taken as [RawConnection, RawConnection, RawConnection];
    const release = Promise.withResolvers<void>();
    gateway.upstream.follow(async (call) => {
      await release.promise;
      call.answer(200, completion('hi'));
    });
    busy.send(PROBE + gateway.rawCompletion(key, chat()));
    await busy.answer();
    await gateway.upstream.call();
    for (const connection of [second, first, second]) await probe(connection);

    const next = await RawConnection.open(gateway.port);
    await probe(next);
    assert.equal(await first.rest(), '');
    await probe(second);
    const last = await RawConnection.open(gateway.port);
    await probe(last);
    assert.equal(await next.rest(), '');
    await probe(second);
    release.resolve();
    assert.equal((await busy.answer()).status, 200);
  });

  test('a surplus connection is served if there is room when its request arrives', async () => {
    const late = await RawConnection.open(gateway.port);
    await probe(taken[0] as RawConnection);
    await probe(late);
    await probe(late);
    assert.equal(await taken[0]?.rest(), '');
  });

  test('a connection that closes makes room for another', async () => {
    taken[0]?.leave();
    await served(gateway, 1);
  });
});

/** Sends a request on a connection that stays open. */
async function probe(connection: RawConnection): Promise<void> {
  connection.send(PROBE);
  const answer = await connection.answer();
  assert.equal(answer.status, 200);
  assert.notEqual(answer.headers.get('connection'), 'close');
}

async function many(gateway: TestGateway, count: number): Promise<RawConnection[]> {
  return Promise.all(Array.from({ length: count }, () => RawConnection.open(gateway.port)));
}

/** Opens this many accepted connections, as soon as there is room. */
async function served(gateway: TestGateway, count: number): Promise<RawConnection[]> {
  const connections: RawConnection[] = [];
  await until(async () => {
    const connection = await RawConnection.open(gateway.port);
    connection.send(PROBE);
    const answer = await connection.answer();
    if (answer.headers.get('connection') !== 'close') connections.push(connection);
    return connections.length === count;
  });
  return connections;
}
