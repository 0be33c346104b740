/** Streams that write more than is held for them: the hold grows with them, up to balance and spend limit. */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { answering, chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import type { Script, UpstreamCall } from '../support/fake-upstream.ts';
import { chat, type GatewayOptions, type Reply, type TestGateway, withGateway } from '../support/gateway.ts';
import { oneGateway } from '../support/one-gateway.ts';
import { RawConnection } from '../support/raw.ts';
import { costOfCounted, outputTokens } from '../support/tokens.ts';
import { until } from '../support/wait.ts';

/** A hold without a declared maximum: 5 tokens in, 100 out. */
const HOLD_NANOS = 205_000n;
/** What it grows by: 100 tokens of output. */
const STEP_NANOS = 200_000n;
/** Ten tokens, by the tokenizer and by the estimate. */
const TEN = ' one two three four five six seven eight nine ten';

/** Runs a test that concerns only keys of its own. */
const onShared = oneGateway({ after });

const usd = (nanos: bigint): GatewayOptions => ({ credit: `0.${String(nanos).padStart(9, '0')}` });

/** Writes so many chunks of ten tokens, in one piece, unless the gateway stops it. */
function writing(chunks: number, text = TEN, end = chunk('', 'stop') + DONE): Script {
  return (call) => {
    call.stream();
    call.send(chunk(text).repeat(chunks));
    call.send(end);
    call.end();
  };
}

const streamed = chat({ stream: true });

/** The code of the error line before the end of a cut stream; undefined if it was not cut. */
function cutBy({ text, status }: Pick<Reply, 'text' | 'status'>): string | undefined {
  assert.equal(status, 200);
  assert.ok(text.endsWith(DONE));
  const last = text.slice(0, -DONE.length).trimEnd().split('\n\n').at(-1) ?? '';
  return JSON.parse(last.slice('data: '.length)).error?.code;
}

const spent = (gateway: TestGateway, before: bigint) => before - gateway.balanceNanos;

describe('a stream without a declared maximum', () => {
  test('is cut when the balance leaves nothing, and passes it by one event at most', () =>
    withGateway(usd(HOLD_NANOS + STEP_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(writing(500));
      const reply = await gateway.complete(key, streamed);
      assert.equal(cutBy(reply), 'insufficient_credit');
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source], ['insufficient_credit', 'counted']);
      const cost = spent(gateway, HOLD_NANOS + STEP_NANOS);
      assert.equal(Number(cost), row.cost_nanos);
      // The last event was written, but not relayed.
      const relayed = reply.text.split(TEN).length - 1;
      assert.equal(row.completion_tokens, outputTokens(TEN.repeat(relayed + 1)));
      assert.ok(cost > HOLD_NANOS && cost <= HOLD_NANOS + STEP_NANOS + 20_000n, `${cost}`);
    }));

  test('is cut when the spend limit leaves nothing, and the next request is refused', () =>
    onShared(async (gateway) => {
      const limit = 3n * STEP_NANOS;
      const key = gateway.key({ spendLimitNanos: limit });
      gateway.upstream.follow(writing(500));
      assert.equal(cutBy(await gateway.complete(key, streamed)), 'spend_limit_reached');
      const { cost_nanos, outcome } = await gateway.row(key);
      assert.equal(outcome, 'spend_limit_reached');
      assert.ok(cost_nanos >= Number(limit) && cost_nanos <= Number(limit) + 20_000, `${cost_nanos}`);
      assert.equal((await gateway.complete(key, streamed)).status, 402);
    }));

  test('goes on while there is money, and its hold is what it was at the end', () =>
    onShared(async (gateway) => {
      const key = gateway.key();
      const goOn = Promise.withResolvers<void>();
      gateway.upstream.follow(async (call) => {
        call.stream();
        call.send(chunk(TEN).repeat(25));
        await goOn.promise;
        call.send(chunk('', 'stop') + usageChunk({ prompt_tokens: 5, completion_tokens: 250 }) + DONE);
        call.end();
      });
      const reply = gateway.complete(key, streamed);
      await until(() => gateway.heldNanos(key) > HOLD_NANOS + STEP_NANOS);
      assert.equal(gateway.heldNanos(key), HOLD_NANOS + 2n * STEP_NANOS);
      goOn.resolve();
      const { text } = await reply;
      assert.equal(text.split(TEN).length - 1, 25);
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.cost_nanos], ['ok', costOfCounted(5, 250)]);
      assert.equal((row as unknown as { hold_nanos: number }).hold_nanos, Number(HOLD_NANOS + 2n * STEP_NANOS));
    }));

  test('of several choices grows by a step for each', () =>
    onShared(async (gateway) => {
      const key = gateway.key();
      const goOn = Promise.withResolvers<void>();
      gateway.upstream.follow(async (call) => {
        call.stream();
        const other = chunk(TEN).replace('"index":0', '"index":1');
        call.send((chunk(TEN) + other).repeat(11));
        await goOn.promise;
        call.send(chunk('', 'stop') + chunk('', 'stop').replace('"index":0', '"index":1') + DONE);
        call.end();
      });
      const reply = gateway.complete(key, chat({ stream: true, n: 2 }));
      await until(() => gateway.heldNanos(key) > HOLD_NANOS + STEP_NANOS);
      assert.equal(gateway.heldNanos(key), HOLD_NANOS + 3n * STEP_NANOS);
      goOn.resolve();
      await reply;
    }));

  test('is not cut by a report that comes with its end', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(
        writing(1, 'hi', chunk('', 'stop') + usageChunk({ prompt_tokens: 5, completion_tokens: 900 }) + DONE),
      );
      const { text } = await gateway.complete(key, streamed);
      assert.equal(text, chunk('hi') + chunk('', 'stop') + DONE);
      assert.equal((await gateway.row(key)).cost_nanos, costOfCounted(5, 900));
    }));

  test('is cut by reports of more than its text shows', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      const usage = { prompt_tokens: 5, completion_tokens: 150 };
      gateway.upstream.follow(writing(1, 'hi', chunk('you', null, { usage }) + chunk('', 'stop') + DONE));
      assert.equal(cutBy(await gateway.complete(key, streamed)), 'insufficient_credit');
      assert.equal((await gateway.row(key)).completion_tokens, 150);
    }));
});

test('before a stream is cut its tokens are counted: one that declares its maximum is not cut by the estimate', () =>
  withGateway(usd(HOLD_NANOS), async (gateway) => {
    const key = gateway.key();
    // 100 tokens; by its bytes they would be 180.
    const long = ' international'.repeat(50) + ' responsibilities'.repeat(50);
    gateway.upstream.follow(writing(1, long));
    assert.equal(cutBy(await gateway.complete(key, chat({ stream: true, max_tokens: 100 }))), undefined);
    assert.equal((await gateway.row(key)).completion_tokens, 100);
  }));

describe('holds do not grow', () => {
  test('for a model without a price, whatever it writes', () =>
    withGateway({ credit: '0' }, async (gateway) => {
      const key = gateway.key({ spendLimitNanos: 1n });
      gateway.upstream.follow(writing(500));
      const reply = await gateway.complete(key, chat({ stream: true, model: 'fake/free' }));
      assert.equal(cutBy(reply), undefined);
      assert.equal((await gateway.row(key)).outcome, 'ok');
    }));

  test('for a plain completion, which is charged as it comes', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(answering(completion('hi', { usage: { prompt_tokens: 5, completion_tokens: 900 } })));
      assert.equal((await gateway.complete(key)).status, 200);
      assert.equal((await gateway.row(key)).cost_nanos, costOfCounted(5, 900));
    }));
});

test('with credit: off only the spend limit cuts a stream', () =>
  withGateway({ credit: '0', config: { credit: 'off' } }, async (gateway) => {
    gateway.upstream.follow(writing(50));
    assert.equal(cutBy(await gateway.complete(gateway.key(), streamed)), undefined);
    gateway.upstream.follow(writing(500));
    const limited = gateway.key({ spendLimitNanos: 2n * STEP_NANOS });
    assert.equal(cutBy(await gateway.complete(limited, streamed)), 'spend_limit_reached');
  }));

test('a fallback holds what its own prices cost', () =>
  withGateway(
    {
      provider: {
        models: {
          echo: { input: 1, output: 2, default_output: 100, fallback: ['fake/dear'] },
          dear: { input: 1, output: 20, default_output: 10 },
        },
      },
    },
    async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow((call) =>
        JSON.parse(call.body).model === 'dear' ? writing(3)(call) : call.answer(429, {}),
      );
      await gateway.complete(key, streamed);
      const { hold_nanos } = (await gateway.row(key)) as unknown as { hold_nanos: number };
      assert.equal(hold_nanos, 5_000 + 40 * 20_000);
    },
  ));

describe('racing streams pass by one event each at most', () => {
  const RACING = 20;
  const race = async (gateway: TestGateway, key: ReturnType<TestGateway['key']>) => {
    gateway.upstream.follow(async (call: UpstreamCall) => {
      call.stream();
      for (let i = 0; i < 100; i++) {
        call.send(chunk(TEN));
        await new Promise(setImmediate);
      }
      call.send(chunk('', 'stop') + DONE);
      call.end();
    });
    const replies = await Promise.all(Array.from({ length: RACING }, () => gateway.complete(key, streamed)));
    await gateway.assertSettled();
    return replies.filter(({ status }) => status === 200);
  };
  const EVENTS = BigInt(RACING) * 20_000n;

  test('the balance', () => {
    const credit = 12n * HOLD_NANOS;
    return withGateway(usd(credit), async (gateway) => {
      const served = await race(gateway, gateway.key());
      assert.ok(served.some((reply) => cutBy(reply) === 'insufficient_credit'));
      const passed = -gateway.balanceNanos;
      assert.ok(passed <= EVENTS, `${passed}`);
    });
  });

  test('the spend limit', () => {
    const limit = 12n * HOLD_NANOS;
    return onShared(async (gateway) => {
      const key = gateway.key({ spendLimitNanos: limit });
      const served = await race(gateway, key);
      assert.ok(served.some((reply) => cutBy(reply) === 'spend_limit_reached'));
      const charged = gateway.rows(key).reduce((sum, { cost_nanos }) => sum + BigInt(cost_nanos), 0n);
      // One request more than the limit covers, and one event of each.
      assert.ok(charged <= limit + HOLD_NANOS + EVENTS, `${charged}`);
    });
  });
});

test('a stream whose client has left is cut all the same where it is read on', () =>
  withGateway({ ...usd(HOLD_NANOS), provider: { on_disconnect: 'drain' } }, async (gateway) => {
    const key = gateway.key();
    const left = Promise.withResolvers<void>();
    gateway.upstream.follow(async (call) => {
      call.stream();
      call.send(chunk('hi'));
      await left.promise;
      call.send(chunk(TEN).repeat(100));
    });
    const connection = await RawConnection.open(gateway.port);
    connection.send(gateway.rawCompletion(key, streamed));
    await connection.has('hi');
    connection.leave();
    await until(async () => (await gateway.inFlight()) === 0);
    left.resolve();
    await (await gateway.upstream.call()).closed;
    const { cost_nanos } = await gateway.row(key);
    assert.ok(cost_nanos <= Number(HOLD_NANOS) + 20_000, `${cost_nanos}`);
  }));
