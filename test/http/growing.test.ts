/** Streams that write more than is held for them: the hold grows with them, up to balance and spend limit. */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { answering, chunk, completion, DONE, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { type Followed, Followers } from '../support/follower.ts';
import {
  chat,
  counter,
  type GatewayOptions,
  type Reply,
  type Row,
  type TestGateway,
  withGateway,
} from '../support/gateway.ts';
import { oneGateway } from '../support/one-gateway.ts';
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
const followers = new Followers();

/** The code of the error line before the end of a cut stream; undefined if it was not cut. */
function cutBy({ text, status }: Pick<Reply, 'text' | 'status'>): string | undefined {
  assert.equal(status, 200);
  assert.ok(text.endsWith(DONE));
  const last = text.slice(0, -DONE.length).trimEnd().split('\n\n').at(-1) ?? '';
  return JSON.parse(last.slice('data: '.length)).error?.code;
}

const spent = (gateway: TestGateway, before: bigint) => before - gateway.balanceNanos;

describe('a stream without a declared maximum', () => {
  test('is cut when the balance leaves nothing, and passes it by one event', () =>
    withGateway(usd(HOLD_NANOS + STEP_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(followers.writing(500, TEN));
      const { written, ...reply } = await followers.send(gateway, key, {});
      assert.equal(cutBy(reply), 'insufficient_credit');
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.source], ['insufficient_credit', 'counted']);
      // The last event was written, but not relayed.
      assert.equal(reply.text.split(TEN).length - 1, written - 1);
      assert.equal(row.completion_tokens, outputTokens(TEN.repeat(written)));
      const cost = spent(gateway, HOLD_NANOS + STEP_NANOS);
      assert.equal(Number(cost), row.cost_nanos);
      assert.ok(cost > HOLD_NANOS && cost <= HOLD_NANOS + STEP_NANOS + 20_000n, `${cost}`);
    }));

  test('is cut when the spend limit leaves nothing, and the next request is refused', () =>
    onShared(async (gateway) => {
      const limit = 3n * STEP_NANOS;
      const key = gateway.key({ spendLimitNanos: limit });
      gateway.upstream.follow(followers.writing(500, TEN));
      assert.equal(cutBy(await followers.send(gateway, key, {})), 'spend_limit_reached');
      const { cost_nanos, outcome } = await gateway.row(key);
      assert.equal(outcome, 'spend_limit_reached');
      // The host is too fast for its tokens to be counted in time, and the estimate may be a little too high.
      assert.ok(cost_nanos >= 0.9 * Number(limit) && cost_nanos <= Number(limit) + 20_000, `${cost_nanos}`);
      assert.notEqual((await gateway.complete(key, streamed)).status, 200);
    }));

  test('pays for all that its host has sent before it was cut', () =>
    withGateway(usd(HOLD_NANOS + STEP_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(writing(500));
      const reply = await gateway.complete(key, streamed);
      assert.equal(cutBy(reply), 'insufficient_credit');
      assert.ok(reply.text.split(TEN).length - 1 <= 20);
      assert.equal((await gateway.row(key)).completion_tokens, outputTokens(TEN.repeat(500)));
    }));

  test('goes on while there is money, and holds whole steps that cover it, some of them ahead', () =>
    onShared(async (gateway) => {
      const key = gateway.key();
      const goOn = gateway.upstream.streamInTwo(
        chunk(TEN).repeat(25),
        chunk('', 'stop') + usageChunk({ prompt_tokens: 5, completion_tokens: 250 }) + DONE,
      );
      const reply = gateway.complete(key, streamed);
      await until(() => gateway.heldNanos(key) >= HOLD_NANOS + 2n * STEP_NANOS);
      const held = gateway.heldNanos(key);
      goOn();
      assert.equal((held - HOLD_NANOS) % STEP_NANOS, 0n);
      // How far ahead is a matter of the machine, up to the 1,000 tokens of the model.
      assert.ok(held <= HOLD_NANOS + 9n * STEP_NANOS, `${held}`);
      const { text } = await reply;
      assert.equal(text.split(TEN).length - 1, 25);
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, row.cost_nanos], ['ok', costOfCounted(5, 250)]);
      assert.ok((row as unknown as { hold_nanos: number }).hold_nanos >= Number(held));
    }));

  test('of several choices grows by a step for each', () =>
    onShared(async (gateway) => {
      const key = gateway.key();
      const both = (text: string) => text + text.replace('"index":0', '"index":1');
      const goOn = gateway.upstream.streamInTwo(both(chunk(TEN)).repeat(11), both(chunk('', 'stop')) + DONE);
      const reply = gateway.complete(key, chat({ stream: true, n: 2 }));
      await until(() => gateway.heldNanos(key) > HOLD_NANOS + STEP_NANOS);
      const grown = gateway.heldNanos(key) - HOLD_NANOS - STEP_NANOS;
      goOn();
      assert.equal(grown % (2n * STEP_NANOS), 0n);
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

test('before a stream is cut its tokens are counted', (t) => {
  // A stream waits for its count no longer than it takes to write as much again, here some 60 ms: so its count is there at once.
  t.mock.method(counter, 'count', async (texts: readonly string[]) => outputTokens(...texts));
  return withGateway(usd(HOLD_NANOS), async (gateway) => {
    const key = gateway.key();
    // 90 tokens; by the estimate they would be 162.
    const long = ' international'.repeat(45) + ' responsibilities'.repeat(45);
    gateway.upstream.follow(writing(1, long));
    assert.equal(cutBy(await gateway.complete(key, streamed)), undefined);
    assert.equal((await gateway.row(key)).completion_tokens, 90);
  });
});

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
      // Ten tokens at a time, for the thirty that it writes.
      assert.equal((hold_nanos - 5_000) % (10 * 20_000), 0);
      assert.ok(hold_nanos >= 5_000 + 30 * 20_000, `${hold_nanos}`);
    },
  ));

describe('racing streams pass by one event each at most', () => {
  const RACING = 20;
  const race = async (gateway: TestGateway, key: ReturnType<TestGateway['key']>): Promise<Followed[]> => {
    gateway.upstream.follow(followers.writing(100, TEN));
    const replies = await Promise.all(Array.from({ length: RACING }, () => followers.send(gateway, key, {})));
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
    const connection = await gateway.asking(key, streamed);
    await connection.has('hi');
    connection.leave();
    await until(async () => (await gateway.inFlight()) === 0);
    left.resolve();
    await (await gateway.upstream.call()).closed;
    assert.equal((await gateway.row(key)).completion_tokens, outputTokens(`hi${TEN.repeat(100)}`));
  }));

describe('a stream whose maximum is held', () => {
  /** 100 tokens; by the estimate they are 180. */
  const LONG = ' international'.repeat(50) + ' responsibilities'.repeat(50);
  const maximum = (max_tokens: number, fields: object = {}) => ({ max_tokens, ...fields });

  test('is not cut by the estimate', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(writing(1, LONG));
      assert.equal(cutBy(await gateway.complete(key, chat({ stream: true, ...maximum(100) }))), undefined);
      assert.equal((await gateway.row(key)).completion_tokens, 100);
    }));

  test('is not cut by the tokens of another tokenizer', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(followers.writing(12, TEN));
      assert.equal(cutBy(await followers.send(gateway, key, maximum(100))), undefined);
    }));

  test('is cut where its host does not know the maximum', () =>
    withGateway(usd(HOLD_NANOS), async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(followers.writing(20_000, TEN));
      const { written, ...reply } = await followers.send(gateway, key, maximum(100));
      assert.equal(cutBy(reply), 'insufficient_credit');
      const { completion_tokens } = await gateway.row(key);
      assert.equal(completion_tokens, outputTokens(TEN.repeat(written)));
    }));

  test('grows beyond it while there is money', () =>
    onShared(async (gateway) => {
      const key = gateway.key();
      gateway.upstream.follow(followers.writing(600, TEN));
      const { written, ...reply } = await followers.send(gateway, key, maximum(100));
      assert.equal(cutBy(reply), undefined);
      const { hold_nanos, completion_tokens } = (await gateway.row(key)) as Row & { hold_nanos: number };
      assert.equal(completion_tokens, outputTokens(TEN.repeat(written)));
      assert.ok(hold_nanos > Number(HOLD_NANOS));
    }));

  test('holds it step by step, and no more than that, where it begins with less', () =>
    withGateway(
      { provider: { models: { echo: { input: 1, output: 2, default_output: 100, hold_output: 50 } } } },
      async (gateway) => {
        const key = gateway.key();
        gateway.upstream.follow(followers.writing(35, TEN));
        assert.equal(cutBy(await followers.send(gateway, key, maximum(350))), undefined);
        const { hold_nanos } = (await gateway.row(key)) as Row & { hold_nanos: number };
        assert.equal(hold_nanos, 5_000 + 350 * 2_000);
      },
    ));
});
