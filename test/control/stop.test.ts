/** The operator stops a request, or the whole gateway. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { startGateway } from '../../src/gateway/gateway.ts';
import { openLog } from '../../src/observe/log.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { lockState } from '../../src/state/sqlite/lock.ts';
import { chunk, DONE, usageChunk } from '../support/answers.ts';
import { SERVE } from '../support/cli.ts';
import { CREDIT_NANOS, Place, rawChat } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { RunScope } from '../support/run-scope.ts';
import { bounded, until } from '../support/wait.ts';

const STOPPED = 'data: {"error":{"code":"upstream_error","message":"The gateway operator stopped this request."}}\n\n';
/** More than all buffers between an upstream and a client can hold. */
const MANY = 600;

const stopping = (place: Place, id: string | undefined) => place.ask('POST', `/stop-request?id=${id}`);

for (const threads of [1, 2]) {
  describe(`with ${threads} threads`, () => {
    const scope = new RunScope();
    let place: Place;
    before(async () => {
      place = await Place.open(scope, { threads }, SERVE);
    });
    after(() => scope.end());

    test('a stopped stream ends with an error and [DONE], is charged, and is in the journal', async () => {
      place.upstream.follow((call) => {
        call.stream();
        call.send(chunk('Hello'));
      });
      const key = place.key();
      const [stream, other] = [await place.stream(key), await place.stream(key)];
      const [call] = place.upstream.calls;
      assert.equal((await stopping(place, stream.id)).status, 200);
      assert.equal(await stream.rest(), chunk('Hello') + STOPPED + DONE);
      await call?.closed;
      const row = await place.row(stream.id);
      assert.deepEqual([row.outcome, row.source], ['upstream_error', 'counted']);
      assert.deepEqual([row.failure_reason, row.failure_message], ['stopped', 'stopped by the operator']);
      assert.ok(row.completion_tokens > 0 && row.cost_nanos > 0);
      assert.equal((await stopping(place, stream.id)).status, 404, 'it is no longer in flight');
      const { live, recent, upstreams } = await place.snapshot();
      assert.deepEqual([live.map(({ id }) => id), recent.map(({ id }) => id)], [[other.id], [stream.id]]);
      assert.equal(Number(recent[0]?.cost_usd), row.cost_nanos / 1e9);
      assert.equal(recent[0]?.failure?.reason, 'stopped');
      assert.deepEqual([upstreams[0]?.requests, upstreams[0]?.failures], [1, 0], 'the provider is not to blame');
      assert.equal((await stopping(place, other.id)).status, 200);
      await other.rest();
      await until(async () => (await place.snapshot()).in_flight === 0);
      place.assertSettled();
    });

    test('a request that is stopped before its answer gets an error, and is charged', async () => {
      place.upstream.follow(() => {});
      const key = place.key();
      const waiting = place.chat(key);
      await place.upstream.call();
      const [live] = (await place.snapshot()).live;
      assert.equal((await stopping(place, live?.id)).status, 200);
      const response = await waiting;
      const { error } = (await response.json()) as { error: { code: string; message: string } };
      assert.deepEqual([response.status, error.code], [502, 'upstream_error']);
      assert.match(error.message, /operator stopped this request/);
      assert.ok((await place.row(live?.id as string)).cost_nanos > 0);
      await until(async () => (await place.snapshot()).in_flight === 0);
      place.assertSettled();
    });

    test('a stream whose client does not read can be stopped, too', async (t) => {
      const place = await Place.open(t, { threads });
      // However much of it the systems in between take.
      bookOf(place.database).account.enter(1_000n * CREDIT_NANOS, 'for a long stream', Date.now());
      place.upstream.follow((call) => {
        call.stream();
        for (let i = 0; i < MANY; i++) call.send(chunk('x'.repeat(16 * 1024)));
      });
      const key = place.key();
      const connection = await RawConnection.sending(place.port, rawChat(key, { stream: true }));
      await connection.has('xxx');
      connection.pause();
      const [live] = (await place.snapshot()).live;
      assert.equal((await stopping(place, live?.id)).status, 200);
      assert.equal((await place.row(live?.id as string)).outcome, 'upstream_error');
      await until(async () => (await place.snapshot()).live.length === 0);
      connection.leave();
      await place.stop();
    });

    test('POST /drain lets requests in flight finish and exits with status 0, as SIGTERM does', async () => {
      const release = place.upstream.streamInTwo(chunk('Hello'), chunk('', 'stop') + usageChunk() + DONE);
      const stream = await place.stream(place.key());
      assert.equal((await place.ask('POST', '/drain')).status, 200);
      await bounded(place.serving.logged(/^drain: shutting down, .* 1 request in flight/), 'the drain');
      await until(() =>
        fetch(`${place.serving.url}/healthz`).then(
          () => false,
          () => true,
        ),
      );
      release();
      assert.equal(await stream.rest(), chunk('Hello') + chunk('', 'stop') + DONE);
      assert.deepEqual(await bounded(place.serving.ended, 'the gateway exits'), { status: 0, signal: null });
      assert.equal((await place.row(stream.id)).outcome, 'ok');
      assert.equal(existsSync(place.socketPath), false);
      place.assertSettled();
    });

    test('a second POST /drain exits at once, as a second signal does', async (t) => {
      const place = await Place.open(t, { threads, timeouts: { drain: '24h' } }, SERVE);
      place.upstream.follow((call) => {
        call.stream();
        call.send(chunk('Hello'));
      });
      const stream = await place.stream(place.key());
      // The answers may be lost with the process.
      await Promise.allSettled([place.ask('POST', '/drain'), place.ask('POST', '/drain')]);
      assert.deepEqual(await bounded(place.serving.ended, 'the gateway exits'), { status: 1, signal: null });
      await assert.rejects(stream.rest());
    });
  });
}

test('lines that are logged after the log was closed are lost without an error', async () => {
  const { log, write, close } = await openLog('info', 'json');
  await close();
  log.info('too late');
  write('too late\n');
});

test('a gateway that stops removes its socket before it unlocks the state file', async (t) => {
  const place = await Place.open(t);
  await place.stop();
  place.configure({ log: { level: 'silent' } });
  const config = loadConfig({ directory: place.directory, environment: {} });
  const gateway = await startGateway(config, await openLog('silent', 'json'), { onFatal: () => {} });
  let calls = 0;
  await gateway.stop(0, () => {
    calls++;
    assert.throws(() => lockState(config.statePath), /another inf-gw serve is running/);
  });
  assert.equal(calls, 1);
  lockState(config.statePath).release();
});
