/**
 * Requests that end while an upstream is working: no other upstream is tried, and everything is
 * settled.
 */
import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import type { Script, UpstreamCall } from '../support/fake-upstream.ts';
import { chat, type TestKey } from '../support/gateway.ts';
import type { RawConnection } from '../support/raw.ts';
import { until } from '../support/wait.ts';
import { type Fields, refusing, type Stage, serving, withStage } from './stage.ts';

const REPORTED_COST = 20_000;
const drain = { provider: { on_disconnect: 'drain' } };

/** A script that continues on command. */
function waiting(first: Script, then: Script): { script: Script; goOn(): void } {
  const release = Promise.withResolvers<void>();
  const script = async (call: UpstreamCall) => {
    await first(call);
    await release.promise;
    await then(call);
  };
  return { script, goOn: release.resolve };
}

/** A client that has sent its request. */
async function client(stage: Stage, key: TestKey, fields: Fields = {}): Promise<RawConnection> {
  const connection = await stage.gateway.asking(key, chat(fields));
  return connection;
}

/** Resolves when the gateway has noticed the hang-up. */
const deserted = (stage: Stage) => until(async () => (await stage.gateway.inFlight()) === 0);

describe('a client that hangs up during the first attempt', () => {
  test('ends it, and no other upstream is tried', () =>
    withStage(2, {}, async (stage) => {
      stage.follow(() => {}, serving('hi'));
      const key = stage.key();
      const connection = await client(stage, key, { stream: true });
      const call = await stage.host(0).call();
      connection.leave();
      await call.closed;
      const row = await stage.row(key);
      assert.deepEqual([row.outcome, row.upstream, row.attempts], ['cancelled', 'fake#1', 1]);
      assert.ok(row.cost_nanos > 0, 'the upstream may have started');
      assert.deepEqual(stage.asked, [1, 0]);
    }));

  test('is not served by another upstream either if the response would be drained', () =>
    withStage(2, drain, async (stage) => {
      const { script, goOn } = waiting(() => {}, refusing(503));
      stage.follow(script, serving('hi'));
      const key = stage.key();
      const connection = await client(stage, key);
      await stage.host(0).call();
      connection.leave();
      await deserted(stage);
      goOn();
      const row = await stage.row(key);
      assert.deepEqual([row.outcome, row.attempts, row.cost_nanos], ['cancelled', 1, 0]);
      assert.deepEqual(stage.asked, [1, 0]);
    }));
});

test('shutdown ends the attempt, and no other one is made', () =>
  // A busy machine may take a while to send the error.
  withStage(2, { grace: { abortMs: 50_000 } }, async (stage) => {
    stage.follow(() => {}, serving('hi'));
    const key = stage.key();
    const reply = stage.ask(key);
    await stage.host(0).call();
    assert.equal(await stage.gateway.drain(0), 0);
    assert.match(assertError(await reply, 502, 'upstream_error'), /shutting down/);
    assert.deepEqual(stage.asked, [1, 0]);
    assert.equal((await stage.row(key)).attempts, 1);
  }));

describe('with on_disconnect: drain', () => {
  const BODIES: readonly (readonly [name: string, stream: boolean, first: Script, then: Script])[] = [
    [
      'a stream',
      true,
      (call) => [call.stream(), call.send(chunk('Hello'))].pop(),
      (call) => [call.send(chunk(' you', 'stop') + usageChunk() + DONE), call.end()].pop(),
    ],
    ['a plain completion', false, () => {}, (call) => call.answer(200, completion('hi'))],
    ['a stream that has not started', true, () => {}, (call) => serving('hi')(call)],
  ];
  for (const [name, stream, first, then] of BODIES) {
    test(`${name} is read to its end, and charged as reported, although its client hung up`, () =>
      withStage(1, drain, async (stage) => {
        const { script, goOn } = waiting(first, then);
        stage.follow(script);
        const key = stage.key({ concurrency: 1 });
        const connection = await client(stage, key, { stream });
        await stage.host(0).call();
        if (name === 'a stream') await connection.has('Hello');
        connection.leave();
        await deserted(stage);
        assert.equal(stage.gateway.holds(key), 1, 'its usage is not known yet');
        goOn();
        const row = await stage.row(key);
        assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', 'reported', REPORTED_COST]);
        stage.follow(serving('hi'));
        assert.equal((await stage.ask(key)).status, 200, 'its slot is free');
      }));
  }

  test('what cannot be read to its end is charged as counted', () =>
    withStage(1, drain, async (stage) => {
      const { script, goOn } = waiting(
        (call) => [call.stream(), call.send(chunk('Hello'))].pop(),
        (call) => call.reset(),
      );
      stage.follow(script);
      const key = stage.key();
      const connection = await client(stage, key, { stream: true });
      await connection.has('Hello');
      connection.leave();
      await deserted(stage);
      goOn();
      const row = await stage.row(key);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos > 0], ['cancelled', 'counted', true]);
    }));

  test('a response is drained for at most a minute', async () => {
    const realTimeout = globalThis.setTimeout;
    const shortened = (work: () => void, milliseconds: number) =>
      realTimeout(work, milliseconds === 60_000 ? 20 : milliseconds);
    await withStage(1, drain, async (stage) => {
      stage.follow((call) => [call.stream(), call.send(chunk('Hello'))].pop());
      const key = stage.key();
      const connection = await client(stage, key, { stream: true });
      await connection.has('Hello');
      // The rig's own waits last a minute too, so they start before the clock is changed.
      const { closed } = await stage.host(0).call();
      const timers = mock.method(globalThis, 'setTimeout', shortened as typeof setTimeout);
      try {
        connection.leave();
        await closed;
      } finally {
        timers.mock.restore();
      }
      const row = await stage.row(key);
      assert.deepEqual([row.outcome, row.source], ['cancelled', 'counted']);
    });
  });

  const ENDS: readonly (readonly [name: string, drainMs: number, isReadOn: boolean, source: string])[] = [
    ['waits for it', 20_000, true, 'reported'],
    ['aborts it when the drain timeout ends', 50, false, 'counted'],
  ];
  for (const [name, drainMs, isReadOn, source] of ENDS) {
    test(`a gateway that stops while a response is drained ${name}, and leaves nothing open`, () =>
      withStage(1, drain, async (stage) => {
        const { script, goOn } = waiting(
          (call) => [call.stream(), call.send(chunk('Hello'))].pop(),
          (call) => [call.send(usageChunk() + DONE), call.end()].pop(),
        );
        stage.follow(script);
        const key = stage.key();
        const connection = await client(stage, key, { stream: true });
        await connection.has('Hello');
        connection.leave();
        await deserted(stage);
        const ended = stage.gateway.drain(drainMs);
        if (isReadOn) goOn();
        assert.equal(await ended, 0, 'a request was left open');
        const row = await stage.row(key);
        assert.deepEqual([row.outcome, row.source], ['cancelled', source]);
        goOn();
      }));
  }
});
