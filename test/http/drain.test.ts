/** Shutdown: requests in flight may finish, no new ones are accepted, and everything is settled. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { chunk, completion, DONE } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import { chat, startTestGateway, type TestGateway, withGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';

const LONG_MS = 60_000;
/** Those who read are given the time that a busy machine takes to end their answers. */
const PATIENT = { grace: { abortMs: 50_000 } };
const HEALTH = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';

/** A stream of which one event has arrived; `finish` lets the upstream end it. */
async function openStream(gateway: TestGateway) {
  const key = gateway.key();
  const release = gateway.upstream.streamInTwo(chunk('Hello'), chunk('', 'stop') + DONE);
  const connection = await gateway.asking(key, chat({ stream: true }));
  await connection.has('Hello');
  return { key, connection, finish: release };
}

describe('while a gateway drains', () => {
  test('streams and responses in flight finish, and their connections close', () =>
    withGateway({}, async (gateway) => {
      const stream = await openStream(gateway);
      const release = gateway.upstream.followLater((call) => call.answer(200, completion('hi')));
      const key = gateway.key();
      const waiting = await gateway.asking(key);
      await gateway.upstream.call();
      const drained = gateway.drain(LONG_MS);
      release();
      const answer = await waiting.answer();
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get('connection'), 'close');
      assert.equal(await waiting.rest(), '');
      stream.finish();
      assert.equal((await stream.connection.answer()).body, chunk('Hello') + chunk('', 'stop') + DONE);
      await drained;
      assert.equal((await gateway.row(stream.key)).outcome, 'ok');
      assert.equal((await gateway.row(key)).outcome, 'ok');
    }));

  test('a client that reads nothing does not keep its request from being settled', () =>
    withGateway({}, async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(async (call) => {
        call.stream();
        for (let i = 0; i < 400; i++) call.send(chunk('x'.repeat(64 * 1024)));
      });
      const connection = await gateway.asking(key, chat({ stream: true }));
      await connection.has('xxx');
      connection.pause();
      assert.equal(await gateway.drain(50), 0, 'a request was left open');
      const row = await gateway.row(key);
      assert.ok(row.source === 'counted' && row.cost_nanos > 0);
      assert.equal(gateway.holds(key), 0);
      connection.leave();
    }));

  test('new connections are rejected, and idle ones are closed', () =>
    withGateway({}, async (gateway) => {
      const { connection, finish } = await openStream(gateway);
      const idle = await gateway.sending(HEALTH);
      assert.equal((await idle.answer()).status, 200);
      const drained = gateway.drain(LONG_MS);
      assert.equal(await idle.rest(), '');
      await assert.rejects(RawConnection.open(gateway.port), { code: 'ECONNREFUSED' });
      finish();
      await connection.answer();
      await drained;
    }));

  test('a request on an open connection gets Connection: close', () =>
    withGateway({}, async (gateway) => {
      const { connection, finish } = await openStream(gateway);
      const late = await gateway.sending('GET /readyz HTTP/1.1\r\n');
      const expecting = await gateway.sending('GET /v1/models HTTP/1.1\r\nHost: a\r\n');
      // A response on another connection shows that the gateway has read what was sent before it.
      assert.equal((await gateway.request('/healthz')).status, 200);
      const drained = gateway.drain(LONG_MS);
      late.send('Host: a\r\n\r\n');
      const answer = await late.answer();
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('connection'), 'close');
      await late.rest();
      expecting.send('Expect: tea\r\n\r\n');
      assert.equal((await expecting.answer()).headers.get('connection'), 'close');
      await expecting.rest();
      finish();
      await connection.answer();
      await drained;
    }));
});

describe('after the drain timeout', () => {
  test('streams get the error line and the end, and are charged', () =>
    withGateway(PATIENT, async (gateway) => {
      const { key, connection } = await openStream(gateway);
      await gateway.drain(1);
      const { body } = await connection.answer();
      assert.ok(body.startsWith(chunk('Hello')) && body.endsWith(DONE), body);
      const line = body.slice(chunk('Hello').length, -DONE.length);
      assert.equal(JSON.parse(line.slice('data: '.length)).error.code, 'upstream_error');
      await (await gateway.upstream.call()).closed;
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos > 0], ['upstream_error', 'counted', true]);
    }));

  test('requests without a response get an error, and are charged', () =>
    withGateway(PATIENT, async (gateway) => {
      gateway.upstream.follow(() => {});
      const key = gateway.key();
      const connection = await gateway.asking(key);
      await gateway.upstream.call();
      await gateway.drain(1);
      assertError(await connection.answer(), 502, 'upstream_error');
      assert.ok((await gateway.row(key)).cost_nanos > 0);
    }));

  test('a request whose body has not arrived is dropped, and has no row', () =>
    withGateway({}, async (gateway) => {
      const key = gateway.key();
      const connection = await gateway.sending(gateway.rawCompletion(key, chat()).slice(0, -5));
      assert.equal((await gateway.request('/healthz')).status, 200);
      await gateway.drain(1);
      await connection.rest();
      assert.deepEqual(gateway.rows(key), []);
    }));

  test('many streams are all settled', () =>
    withGateway(PATIENT, async (gateway) => {
      const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(gateway)));
      await gateway.drain(1);
      for (const { key, connection } of streams) {
        assert.ok((await connection.answer()).body.endsWith(DONE));
        assert.equal((await gateway.row(key)).outcome, 'upstream_error');
      }
    }));
});

test('an idle gateway stops at once, whatever its drain timeout', async () => {
  const gateway = await startTestGateway();
  await gateway.drain(24 * 3_600_000);
  await gateway.stop();
});
