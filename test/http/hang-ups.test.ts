/** Clients that hang up or leave early pay for what was done, as if they had stayed, and leave nothing behind. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { answering, chunk, completion, DONE, USAGE, usageChunk } from '../support/answers.ts';
import { assertError, ratesOf } from '../support/expect.ts';
import type { Script, UpstreamCall } from '../support/fake-upstream.ts';
import { chat, sharedGateway, type TestGateway, type TestKey, withGateway } from '../support/gateway.ts';
import type { RawConnection } from '../support/raw.ts';
import { costOfCounted, inputTokens, outputTokens } from '../support/tokens.ts';
import { until } from '../support/wait.ts';

const gateway = await sharedGateway();

/** The slot, the tokens and the hold of the key's only request are free again. */
async function assertFreed(key: TestKey): Promise<void> {
  assert.equal(gateway.holds(key), 0);
  const { prompt_tokens, completion_tokens } = await gateway.row(key);
  gateway.upstream.follow(answering(completion('hi')));
  const next = await gateway.complete(key);
  assert.equal(next.status, 200);
  const used = prompt_tokens + completion_tokens + USAGE.total_tokens;
  assert.equal(ratesOf(next.headers).remainingTokens, 1_000_000 - used);
}

const limits = { concurrency: 1, tpm: 1_000_000 };
const WORDS = 'some words that were on their way';

const NO_OUTPUT = { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 };
/** The input of the report, and the output that was written. */
const LARGER = costOfCounted(10, outputTokens(WORDS));

/** The cost of a request without reported usage. */
const counted = (written: string) => costOfCounted(inputTokens(), outputTokens(written));

describe('a client that hangs up', () => {
  const STREAMS: readonly (readonly [name: string, piece: string, source: string, cost: number])[] = [
    ['mid-stream pays for what it received', chunk(WORDS), 'counted', counted(WORDS)],
    ['mid-stream pays what was reported until then', chunk('hi', null, { usage: USAGE }), 'reported', 20_000],
    [
      'mid-stream pays what it received where less was reported',
      chunk(WORDS, null, { usage: NO_OUTPUT }),
      'counted',
      LARGER,
    ],
    ['after the finish reason, but before the end, pays', chunk(WORDS, 'stop'), 'counted', counted(WORDS)],
  ];
  for (const [name, piece, source, cost] of STREAMS) {
    test(name, async () => {
      const key = gateway.key(limits);
      gateway.upstream.follow((call) => {
        call.stream();
        call.send(piece);
      });
      const connection = await gateway.asking(key, chat({ stream: true, max_tokens: 500 }));
      await connection.has('content');
      await connection.has('\n\n');
      connection.leave();
      await (await gateway.upstream.call()).closed;
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', source, cost]);
      await assertFreed(key);
    });
  }

  const WAITS: readonly (readonly [name: string, script: Script])[] = [
    ['before the headers of its stream', () => {}],
    ['before the first event of its stream', (call) => call.stream()],
    ['in the middle of an error response', (call) => call.answer(500, '{"error":', { 'content-length': '500' })],
  ];
  for (const [name, script] of WAITS) {
    test(`${name} pays for its input and one token`, async () => {
      const key = gateway.key(limits);
      gateway.upstream.follow(script);
      const connection = await gateway.asking(key, chat({ stream: true }));
      const call = await gateway.upstream.call();
      connection.leave();
      await call.closed;
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', 'counted', counted('')]);
      await assertFreed(key);
    });
  }

  test('is one of many, and all of them are settled', async () => {
    const keys = Array.from({ length: 20 }, () => gateway.key(limits));
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(chunk('x'));
    });
    const connections = await Promise.all(
      keys.map(async (key) => {
        const connection = await gateway.asking(key, chat({ stream: true }));
        return connection;
      }),
    );
    await Promise.all(connections.map((connection) => connection.has('"x"')));
    for (const connection of connections) connection.leave();
    for (const key of keys) assert.equal((await gateway.row(key)).outcome, 'cancelled');
    for (const call of gateway.upstream.calls) await call.closed;
  });
});

test('a client that stops reading its stream is disconnected after the idle timeout, and pays', () =>
  withGateway({ config: { timeouts: { idle: '300ms' } } }, async (own) => {
    const key = own.key({ concurrency: 1 });
    own.upstream.follow((call) => {
      call.stream();
      for (let i = 0; i < 200; i++) call.send(chunk('x'.repeat(100_000)));
    });
    const connection = await own.asking(key, chat({ stream: true }));
    await connection.has('xxx');
    connection.pause();
    const row = await own.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos > 0], ['cancelled', true]);
    await (await own.upstream.call()).closed;
    connection.leave();
  }));

/** Mostly reasoning, which the stream does not show. */
const HIDDEN = { prompt_tokens: 10, completion_tokens: 5_000, total_tokens: 5_010 };
const HIDDEN_COST = costOfCounted(10, 5_000);

/** A client that has sent its request, and the host that has received it. */
async function sent(to: TestGateway, key: TestKey, body: string): Promise<[RawConnection, UpstreamCall]> {
  const connection = await to.asking(key, body);
  return [connection, await to.upstream.call()];
}

/** Resolves when the gateway has noticed that its only client has left. */
const deserted = (of: TestGateway) => until(async () => (await of.inFlight()) === 0);

describe('a stream whose client leaves at the finish reason', () => {
  const leaveAtFinish = async (key: TestKey, text = 'hi'): Promise<UpstreamCall> => {
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(chunk(text, 'stop'));
    });
    const [connection, call] = await sent(gateway, key, chat({ stream: true }));
    await connection.has('"stop"');
    connection.leave();
    await deserted(gateway);
    return call;
  };

  test('is read on for its report, and charged as reported', async () => {
    const key = gateway.key();
    const call = await leaveAtFinish(key);
    assert.equal(gateway.holds(key), 1);
    call.send(usageChunk(HIDDEN) + DONE);
    call.end();
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', 'reported', HIDDEN_COST]);
  });

  test('frees its slot at once: its client may send the next request', async () => {
    const key = gateway.key({ concurrency: 1 });
    const call = await leaveAtFinish(key);
    gateway.upstream.follow(answering(completion('hi')));
    assert.equal((await gateway.complete(key)).status, 200);
    call.send(usageChunk(HIDDEN) + DONE);
    call.end();
    await until(() => gateway.rows(key).length === 2);
  });

  test('is charged as counted if no report comes, and its host is stopped', async () => {
    const key = gateway.key();
    const call = await leaveAtFinish(key, 'some words');
    await call.closed;
    const row = await gateway.row(key);
    assert.deepEqual(
      [row.source, row.cost_nanos],
      ['counted', costOfCounted(inputTokens(), outputTokens('some words'))],
    );
  });
});

describe('a stream that shows nothing, and whose client leaves,', () => {
  const ROWS = [
    ['that has asked for thinking is charged for it by the time, up to the maximum', { reasoning_effort: 'high' }, 50],
    ['that has forbidden thinking is charged for one token', { reasoning_effort: 'none' }, 1],
    ['of a model that does not think is charged for one token', {}, 1],
  ] as const;
  for (const [what, fields, tokens] of ROWS) {
    test(what, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.stream());
      const [connection, call] = await sent(gateway, key, chat({ stream: true, max_tokens: 50, ...fields }));
      // At 300 tokens a second this is more than the maximum.
      await pause(200);
      connection.leave();
      await call.closed;
      const row = await gateway.row(key);
      assert.deepEqual([row.source, row.completion_tokens], ['counted', tokens]);
    });
  }
});

test('a stream that has finished ends for its client, too, although its host sends nothing more', async () => {
  gateway.upstream.follow((call) => {
    call.stream();
    call.send(chunk('hi', 'stop'));
  });
  const key = gateway.key();
  const { text } = await gateway.complete(key, chat({ stream: true }));
  assert.equal(text, chunk('hi', 'stop') + DONE);
  assert.equal((await gateway.row(key)).outcome, 'ok');
});

test('a report that came before most of the work is not the last word on a stream that breaks off', async () => {
  const words = 'many words that were written after the report '.repeat(20);
  gateway.upstream.follow((call) => {
    call.stream();
    call.send(chunk('hi', null, { usage: { prompt_tokens: 10, completion_tokens: 0 } }) + chunk(words));
    call.reset();
  });
  const key = gateway.key();
  await gateway.complete(key, chat({ stream: true }));
  const row = await gateway.row(key);
  assert.deepEqual([row.outcome, row.source], ['upstream_error', 'counted']);
  assert.equal(row.cost_nanos, costOfCounted(10, outputTokens(`hi${words}`)));
});

describe('a request that is no stream, and whose client leaves,', () => {
  test('is read to its end, keeps slot and hold until then, and is charged as reported', async () => {
    const key = gateway.key({ concurrency: 1 });
    gateway.upstream.follow(() => {});
    const [connection, call] = await sent(gateway, key, chat({ n: 20 }));
    connection.leave();
    await deserted(gateway);
    assert.equal(gateway.holds(key), 1);
    assertError(await gateway.complete(key), 429, 'rate_limited');
    call.answer(200, completion('hi', { usage: HIDDEN }));
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', 'reported', HIDDEN_COST]);
  });

  test('pays what was held if its host stops sending', () =>
    withGateway({ config: { timeouts: { idle: '200ms' } } }, async (own) => {
      own.upstream.follow((call) => call.answer(200, '{"choices":', { 'content-length': '500' }));
      const key = own.key();
      const [connection] = await sent(own, key, chat());
      connection.leave();
      const row = await own.row(key);
      assert.deepEqual([row.outcome, row.source, row.cost_nanos], ['cancelled', 'held', row.hold_nanos]);
    }));

  test('pays nothing where the host rejects it', async () => {
    const key = gateway.key();
    gateway.upstream.follow(() => {});
    const [connection, call] = await sent(gateway, key, chat());
    connection.leave();
    await deserted(gateway);
    call.answer(503, { error: { message: 'busy' } });
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos], ['cancelled', 0]);
  });
});
