/** The output maximum that a leash writes into requests without one: the largest that the remaining budget pays for. */
import assert from 'node:assert/strict';
import test, { after, describe } from 'node:test';
import { chunk, completion, DONE, streaming, usageChunk } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { Followers } from '../support/follower.ts';
import { chat, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { oneGateway } from '../support/one-gateway.ts';

/** Nanodollars per token, and the estimated input of a request. */
const INPUT = 1_000n;
const OUTPUT = 2_000n;
const INPUT_TOKENS = 5n;
/** The hold of the first step of output: 100 tokens. */
const STEP_NANOS = 100n * OUTPUT;
const TEN = ' one two three four five six seven eight nine ten';

const onShared = oneGateway({ after });
const followers = new Followers();

/** A budget that pays for one request with so many tokens of output. */
const budgetFor = (outputTokens: bigint) => INPUT_TOKENS * INPUT + outputTokens * OUTPUT;
const leashed = (gateway: TestGateway, limitNanos: bigint) =>
  gateway.key({ isLeashed: true, budgets: [{ period: 'total', limitNanos }] });

/** Uses the whole maximum that it was sent. */
const greedy: Script = (call) => {
  const { max_tokens: most } = JSON.parse(call.body);
  call.answer(
    200,
    completion('Done.', { usage: { prompt_tokens: 5, completion_tokens: most, total_tokens: 5 + most } }),
  );
};

const sentMaximum = async ({ upstream }: TestGateway) => JSON.parse((await upstream.call()).body).max_tokens;

describe('a request on a leash that declares no maximum', () => {
  for (const [claim, budget, maximum] of [
    ['gets what the budget pays for', budgetFor(437n), 437],
    ['gets at most what its model can write', budgetFor(90_000n), 1_000],
    ['gets the first step of output where the budget does not pay for more', budgetFor(3n), 100],
  ] as const) {
    for (const stream of [false, true]) {
      test(`${claim}, ${stream ? 'as a stream' : 'as JSON'}`, () =>
        onShared(async (gateway) => {
          const key = leashed(gateway, budget);
          gateway.upstream.follow(stream ? streaming(chunk('Hi.', 'stop'), usageChunk(), DONE) : greedy);
          assert.equal((await gateway.complete(key, chat({ stream }))).status, 200);
          assert.equal(await sentMaximum(gateway), maximum);
        }));
    }
  }

  test('gets what earlier requests have left', () =>
    onShared(async (gateway) => {
      const key = leashed(gateway, budgetFor(437n) + budgetFor(300n));
      gateway.upstream.follow((call) => {
        const usage = { prompt_tokens: 5, completion_tokens: 300, total_tokens: 305 };
        call.answer(200, completion('Done.', { usage }));
      });
      await gateway.complete(key, chat());
      await gateway.complete(key, chat());
      assert.equal(JSON.parse(gateway.upstream.calls.at(-1)?.body ?? '').max_tokens, 437);
    }));

  test('is recorded as cut if it used all of that, and not otherwise', () =>
    onShared(async (gateway) => {
      const cut = leashed(gateway, budgetFor(437n));
      gateway.upstream.follow(greedy);
      await gateway.complete(cut, chat());
      const { outcome, failure_reason: reason } = await gateway.row(cut);
      assert.deepEqual([outcome, reason], ['ok', 'leash_maximum']);
      for (const fields of [{ max_tokens: 10 }, {}]) {
        const key = leashed(gateway, budgetFor(437n));
        gateway.upstream.follow((call) => {
          const usage = { prompt_tokens: 5, completion_tokens: 10, total_tokens: 15 };
          call.answer(200, completion('Done.', { usage }));
        });
        await gateway.complete(key, chat(fields));
        assert.equal((await gateway.row(key)).failure_reason, null);
      }
    }));

  test('shares the budget with others that race, and together they pass it by less than one step', () =>
    onShared(async (gateway) => {
      const budget = budgetFor(437n);
      const key = leashed(gateway, budget);
      gateway.upstream.follow(greedy);
      await Promise.all(Array.from({ length: 30 }, () => gateway.complete(key, chat())));
      const charged = gateway.rows(key).reduce((sum, { cost_nanos: cost }) => sum + BigInt(cost), 0n);
      assert.ok(charged > budget - STEP_NANOS, `${charged}`);
      assert.ok(charged < budget + STEP_NANOS + INPUT_TOKENS * INPUT, `${charged} of ${budget}`);
    }));

  test('holds a stream step by step, and racing streams pass the budget by one step each', () =>
    onShared(async (gateway) => {
      const budget = budgetFor(437n);
      const key = leashed(gateway, budget);
      gateway.upstream.follow((call) => followers.writing(JSON.parse(call.body).max_tokens / 10, TEN)(call));
      const replies = await Promise.all(Array.from({ length: 10 }, () => followers.send(gateway, key, {})));
      const rows = gateway.rows(key);
      const admitted = replies.filter(({ status }) => status === 200).length;
      assert.ok(admitted > 1, 'one stream holds all of the budget');
      const charged = rows.reduce((sum, { cost_nanos: cost }) => sum + BigInt(cost), 0n);
      assert.ok(charged < budget + BigInt(admitted) * STEP_NANOS, `${charged} of ${budget} by ${admitted}`);
    }));
});

describe('on a host of messages', () => {
  const claude = startTestGateway({
    provider: {
      kind: 'anthropic',
      models: { echo: { input: 1, output: 2, cache_write: 1, cache_write_1h: 1, default_output: 100 } },
    },
  });
  after(async () => (await claude).stop());

  test('the maximum that the translation writes is what the budget pays for, and thinking fits into it', async () => {
    const gateway = await claude;
    gateway.upstream.follow((call) => {
      const usage = { input_tokens: 5, output_tokens: 3 };
      call.answer(200, { content: [{ type: 'text', text: 'Hi.' }], stop_reason: 'end_turn', usage });
    });
    for (const [budget, maximum] of [
      [budgetFor(2_000n), 2_000],
      [budgetFor(900_000n), 32_768],
    ] as const) {
      await gateway.complete(leashed(gateway, budget), chat({ reasoning_effort: 'high' }));
      const { max_tokens: sent, thinking } = JSON.parse(gateway.upstream.calls.at(-1)?.body ?? '');
      assert.ok(sent <= maximum && sent > 0.99 * maximum, `${sent}`);
      assert.ok((thinking?.budget_tokens ?? 0) < sent, JSON.stringify(thinking));
      await gateway.assertSettled();
    }
  });
});
