/**
 * The connection limit: silent and idle connections make room, surplus ones get an error and are closed, and
 * those in use are served.
 */
import assert from 'node:assert/strict';
import test, { afterEach, beforeEach, describe } from 'node:test';
import { SURPLUS_CONNECTIONS } from '../../src/http/connection-limiter.ts';
import { answering, chunk, completion, DONE } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import { chat, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const MOST = 3;
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

let gateway: TestGateway;
beforeEach(async () => {
  gateway = await startTestGateway({ config: { max_connections: MOST } });
});
afterEach(() => gateway.stop());

describe('where all connections are in use', () => {
  let taken: RawConnection[];
  let release: () => void;

  beforeEach(async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    release = resolve;
    gateway.upstream.follow(async (call) => {
      await promise;
      call.answer(200, completion('hi'));
    });
    const key = gateway.key();
    taken = await many(gateway, MOST);
    for (const connection of taken) connection.send(gateway.rawCompletion(key, chat()));
    await gateway.upstream.call(MOST);
  });

  afterEach(() => release());

  test('their requests are served', async () => {
    release();
    for (const connection of taken) assert.equal((await connection.answer()).status, 200);
  });

  test('a request on a surplus connection gets 429, takes nothing, and the connection is closed', async () => {
    const key = gateway.key();
    const connection = await gateway.asking(key);
    const answer = await connection.answer();
    assertError(answer, 429, 'rate_limited');
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.rest(), '');
    assert.equal(gateway.upstream.calls.length, MOST);
    assert.deepEqual(gateway.rows(key), []);
    release();
    await taken[0]?.answer();
    const next = await gateway.sending(
      `GET /v1/nothing HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key.secret}\r\n\r\n`,
    );
    assert.equal(ratesOf((await next.answer()).headers).remainingRequests, 600);
  });

  test('a health check on a surplus connection is answered, however many are silent', async () => {
    const silent = await many(gateway, 2 * SURPLUS_CONNECTIONS);
    const connection = await gateway.sending(PROBE);
    assert.equal((await connection.answer()).status, 200);
    assert.equal(await connection.rest(), '');
    for (const connection of silent) connection.leave();
  });

  test('a surplus connection with an unknown expectation is closed too', async () => {
    const connection = await gateway.sending('GET /v1/models HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n');
    const answer = await connection.answer();
    assertError(answer, 417, 'invalid_request');
    assert.equal(answer.headers.get('connection'), 'close');
    assert.equal(await connection.rest(), '');
  });

  test('a silent surplus connection is closed long before its header timeout', async () => {
    const connection = await RawConnection.open(gateway.port);
    assert.equal(await connection.rest(), '');
  });

  test('of surplus connections the oldest is closed first', async () => {
    const [oldest, ...others] = await many(gateway, SURPLUS_CONNECTIONS);
    const late = await RawConnection.open(gateway.port);
    assert.equal(await oldest?.rest(), '');
    others.push(late);
    for (const connection of others) connection.send(PROBE);
    for (const connection of others) assert.equal((await connection.answer()).status, 200);
  });

  test('a surplus connection is served if there is room when its request arrives', async () => {
    const late = await RawConnection.open(gateway.port);
    release();
    for (const connection of taken) await connection.answer();
    await probe(late);
    await probe(late);
  });
});

describe('where room is short', () => {
  /** A connection that stays open once a request on it had a valid key. */
  const known = async () => {
    const connection = await RawConnection.open(gateway.port);
    gateway.upstream.follow(answering(completion('hi')));
    connection.send(gateway.rawCompletion(gateway.key(), chat()));
    assert.equal((await connection.answer()).status, 200);
    return connection;
  };
  const idle = async () => {
    const [connection] = await many(gateway, 1);
    await probe(connection as RawConnection);
    return connection as RawConnection;
  };

  test('connections that have sent nothing make it, the oldest first, and none that has shown a key', async () => {
    const own = await known();
    const [first, second] = await many(gateway, 2);
    const third = await idle();
    assert.equal(await first?.rest(), '');
    const [fourth] = await many(gateway, 1);
    assert.equal(await second?.rest(), '');
    await probe(third);
    await probe(fourth as RawConnection);
    await probe(own);
  });

  test('a request whose head has not arrived whole is none', async () => {
    const slow = await gateway.sending(PROBE.slice(0, -1));
    for (let n = 0; n < MOST - 1; n++) await known();
    await probe(await idle());
    assert.equal(await slow.rest(), '');
  });

  test('a body that is on its way with a valid key is not given up for it', async () => {
    const slow = await RawConnection.open(gateway.port);
    const request = gateway.rawCompletion(gateway.key(), chat());
    slow.send(request.slice(0, -1));
    for (let n = 0; n < 2 * MOST; n++) await known();
    slow.send(request.slice(-1));
    assert.equal((await slow.answer()).status, 200);
  });

  test('a stream is not given up for it, whatever is sent behind its request', async () => {
    const streaming = await RawConnection.open(gateway.port);
    const script = gateway.upstream.streamInTwo(chunk('hi'), chunk('', 'stop') + DONE);
    streaming.send(gateway.rawCompletion(gateway.key(), chat({ stream: true })) + PROBE.slice(0, -1));
    await streaming.has('"hi"');
    for (let n = 0; n < 2 * MOST; n++) await idle();
    script();
    await streaming.has('[DONE]');
  });

  test('those without a key make it before those with one, and then the longest idle', async () => {
    const first = await known();
    const second = await known();
    const third = await idle();
    const fourth = await known();
    assert.equal(await third.rest(), '');
    await probe(first);
    const fifth = await known();
    assert.equal(await second.rest(), '');
    for (const connection of [first, fourth, fifth]) await probe(connection);
  });

  test('none that is in use makes it', async () => {
    const release = gateway.upstream.followLater(answering(completion('hi')));
    const busy = await gateway.asking(gateway.key());
    await gateway.upstream.call();
    for (let n = 0; n < 2 * MOST; n++) await idle();
    release();
    assert.equal((await busy.answer()).status, 200);
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
