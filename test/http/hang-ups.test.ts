/**
 * Clients that hang up before their response is complete pay for what was done, and leave nothing
 * behind.
 */
import assert from 'node:assert/strict';
import test, { after, afterEach, describe } from 'node:test';
import { answering, chunk, completion, USAGE } from '../support/answers.ts';
import { ratesOf } from '../support/expect.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, startTestGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { costOfCounted, inputTokens, outputTokens } from '../support/tokens.ts';

const gateway = await startTestGateway();
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

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
      const connection = await RawConnection.open(gateway.port);
      connection.send(gateway.rawCompletion(key, chat({ stream: true, max_tokens: 500 })));
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
      const connection = await RawConnection.open(gateway.port);
      connection.send(gateway.rawCompletion(key, chat({ stream: true })));
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
        const connection = await RawConnection.open(gateway.port);
        connection.send(gateway.rawCompletion(key, chat({ stream: true })));
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
    const connection = await RawConnection.open(own.port);
    connection.send(own.rawCompletion(key, chat({ stream: true })));
    await connection.has('xxx');
    connection.pause();
    const row = await own.row(key);
    assert.deepEqual([row.outcome, row.cost_nanos > 0], ['cancelled', true]);
    await (await own.upstream.call()).closed;
    connection.leave();
  }));
