/** What a stream may write: growths that come ahead of it, refusals that are known in time, and maxima that are held. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { expectedCost } from '../../../src/catalog/cost.ts';
import { NO_MEDIA } from '../../../src/core/modalities.ts';
import type { Nanos } from '../../../src/core/money.ts';
import { readChunk } from '../../../src/dialects/chat/chat-answer.ts';
import type { Grant, Growth, Ledger } from '../../../src/ledger/ledger.ts';
import { StreamAllowance } from '../../../src/proxy/allowance.ts';
import { GrowthTimes } from '../../../src/proxy/pace.ts';
import { Meter } from '../../../src/relay/meter.ts';
import type { TokenCounter } from '../../../src/tokens/counter.ts';
import { flatPrices, testModel } from '../../support/models.ts';
import { chatRequest } from '../dialects/chat/chat.ts';
import { LANGUAGES, languageText, tokensOf } from '../wire/token-texts.ts';

const INPUT = 5;
const STEP = 100;
/** A token costs a thousand nanodollars. */
const MODEL = testModel('p/m', { ...flatPrices(1_000_000_000n), defaultOutput: STEP });
const TEN = ' one two three four five six seven eight nine ten';
const NOTHING_LEFT: Grant = {
  granted: false,
  refusal: { reason: 'insufficient_credit', keyName: 'app', balanceNanos: 0n },
};

/** A stream, what may be written of it, and the ledger's side. */
function stream(
  options: {
    fields?: object;
    maximum?: number;
    outputTokens?: number;
    count?: () => number | undefined | Promise<number | undefined>;
    isLoaded?: boolean;
    model?: typeof MODEL;
    /** The time between two pieces, in milliseconds: that of the machine without it. */
    pauseMs?: number;
  } = {},
) {
  const { fields = {}, maximum, outputTokens = STEP, count = () => undefined, isLoaded = true } = options;
  const { model = MODEL, pauseMs } = options;
  const request = chatRequest({ model: 'p/m', messages: [{ role: 'user', content: 'x' }], stream: true, ...fields });
  const asked: (Growth & { answer(grant?: Grant): Promise<void>; fail(): Promise<void> })[] = [];
  const ledger = {
    grow: (growth: Growth) => {
      const { promise, resolve, reject } = Promise.withResolvers<Grant>();
      const settle = async (work: () => void) => {
        work();
        await turn();
      };
      asked.push({
        ...growth,
        answer: (grant = { granted: true, holdNanos: growth.holdNanos }) => settle(() => resolve(grant)),
        fail: () => settle(() => reject(new Error('no ledger'))),
      });
      return promise;
    },
  } as Partial<Ledger> as Ledger;
  let counts = 0;
  const counter = {
    isLoaded,
    count: async () => {
      counts++;
      return count();
    },
  } as Partial<TokenCounter> as TokenCounter;
  const holdNanos: Nanos = expectedCost(model, INPUT, outputTokens, { ...request, ...NO_MEDIA });
  const allowance = new StreamAllowance({
    requestId: 'r',
    request,
    model,
    inputTokens: INPUT,
    holdNanos,
    maximumTokens: maximum,
    media: NO_MEDIA,
    ledger,
    counter,
    growthTimes: new GrowthTimes(),
  });
  let nowMs = 0;
  const meter = new Meter(INPUT, undefined, pauseMs === undefined ? undefined : () => nowMs);
  const write = (delta: object) => {
    meter.read(readChunk({ choices: [{ index: 0, delta }] }));
    return meter.hasWrittenMoreThan(allowance.askAt, allowance) ? allowance.ask(meter) : undefined;
  };
  /** Writes tens of tokens, one after the other, until it has to wait. */
  const tens = async (pieces: number) => {
    for (let piece = 0; piece < pieces; piece++) {
      nowMs += pauseMs ?? 0;
      const answer = write({ content: TEN });
      if (answer !== undefined) return { answer };
      await turn();
    }
    return { answer: undefined };
  };
  return { allowance, meter, asked, tens, write, counts: () => counts };
}

const nanosOf = (tokens: number) => BigInt((INPUT + tokens) * 1_000);

describe('a hold grows', () => {
  test('before it is used up, and its stream goes on meanwhile', async () => {
    const { tens, asked } = stream();
    assert.equal((await tens(9)).answer, undefined);
    assert.equal(asked.length, 1);
  });

  test('in whole steps, for what the stream may write until there is an answer', async () => {
    const { tens, asked } = stream();
    await tens(9);
    const [growth] = asked;
    assert.ok(growth !== undefined && growth.holdNanos > nanosOf(STEP));
    assert.equal((growth.holdNanos - nanosOf(0)) % (BigInt(STEP) * 1_000n), 0n);
    // It has written 100 tokens in less than a tenth of a second, and an answer is thought to take two of those.
    assert.ok(growth.holdNanos <= nanosOf(4 * STEP), `${growth.holdNanos}`);
  });

  test('by nothing for a stream that stays far below it', async () => {
    const { tens, asked } = stream({ outputTokens: 100_000 });
    await tens(20);
    assert.equal(asked.length, 0);
  });

  test('and the stream waits where the answer is late', async () => {
    const { tens, asked } = stream();
    const { answer } = await tens(20);
    assert.ok(answer !== undefined);
    await asked[0]?.answer();
    assert.equal(await answer, undefined);
    assert.equal(asked.length, 1);
  });

  test('again, where less was left than it needs', async () => {
    const { tens, write, asked } = stream();
    await tens(5);
    const answer = write({ content: TEN.repeat(10) });
    await turn();
    await asked[0]?.answer({ granted: true, holdNanos: nanosOf(STEP + 5) });
    assert.equal(asked.length, 2);
    await asked[1]?.answer();
    assert.equal(await answer, undefined);
  });

  test('after a failure that nobody waited for, once it is needed', async () => {
    const { tens, asked } = stream();
    await tens(9);
    await asked[0]?.fail();
    const { answer } = await tens(20);
    await asked[1]?.answer();
    assert.equal(await answer, undefined);
  });
});

describe('a stream that nothing is left for', () => {
  test('goes on until its hold is used up, and ends then without another question', async () => {
    const { tens, asked } = stream();
    await tens(8);
    await asked[0]?.answer(NOTHING_LEFT);
    assert.equal((await tens(1)).answer, undefined);
    assert.equal((await (await tens(20)).answer)?.code, 'insufficient_credit');
    assert.equal(asked.length, 1);
  });

  test('goes on as far as its tokens were counted, and estimated too high', async () => {
    const { tens, asked } = stream({ count: () => 45 });
    await tens(9);
    await asked[0]?.answer(NOTHING_LEFT);
    assert.equal((await tens(5)).answer, undefined);
  });

  test('is counted before that: as soon as a growth leaves nothing', async () => {
    const { tens, asked, counts } = stream({ pauseMs: 100 });
    await tens(9);
    assert.equal(counts(), 0);
    await asked[0]?.answer({ granted: true, holdNanos: nanosOf(STEP + 50), leftNanos: 0n });
    assert.equal(counts(), 1);
  });

  test('is counted even earlier while the tokenizer is not loaded: with 30 seconds left', async () => {
    for (const [seconds, isLoaded, expected] of [
      [29, false, 1],
      [31, false, 0],
      [29, true, 0],
    ] as const) {
      const { tens, asked, counts } = stream({ pauseMs: 100, isLoaded });
      await tens(9);
      const [growth] = asked;
      assert.ok(growth !== undefined);
      // Ten tokens in a tenth of a second.
      await growth.answer({ granted: true, holdNanos: growth.holdNanos, leftNanos: BigInt(seconds * 100 * 1_000) });
      assert.equal(counts(), expected, `${seconds} s`);
    }
  });

  test('holds for longer ahead while the tokenizer is not loaded', async () => {
    const [cold, warm] = [stream({ pauseMs: 100, isLoaded: false }), stream({ pauseMs: 100 })];
    for (const { tens } of [cold, warm]) await tens(5);
    assert.deepEqual([cold.asked.length, warm.asked.length], [1, 0]);
  });

  test('waits for a count that takes seconds, but no longer than one step takes', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const [pauseMs, waitsMs] of [
      [1_000, 5_000],
      [100, 1_000],
    ] as const) {
      const { promise } = Promise.withResolvers<number>();
      const { tens, asked } = stream({ pauseMs, count: () => promise });
      const { answer } = await tens(20);
      await asked[0]?.answer(NOTHING_LEFT);
      let code: string | undefined;
      void answer?.then((error) => {
        code = error?.code;
      });
      await turn();
      t.mock.timers.tick(waitsMs - 1);
      await turn();
      assert.equal(code, undefined, `${pauseMs}`);
      t.mock.timers.tick(2);
      await turn();
      assert.equal(code, 'insufficient_credit', `${pauseMs}`);
    }
  });

  test('gets two thirds of its output in any language, even if the tokenizer never loads', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const language of LANGUAGES) {
      const { promise } = Promise.withResolvers<number>();
      const { write, asked } = stream({ isLoaded: false, outputTokens: 512, count: () => promise });
      const pieces = languageText(language).match(/.{1,5}/gsu) ?? [];
      let written = '';
      let answer: ReturnType<typeof write>;
      for (let at = 0; answer === undefined; at++) {
        const content = pieces[at % pieces.length] as string;
        answer = write({ content });
        if (answer === undefined) written += content;
        await turn();
        await asked[0]?.answer(NOTHING_LEFT);
      }
      t.mock.timers.tick(5_000);
      assert.equal((await answer)?.code, 'insufficient_credit');
      const tokens = tokensOf(written);
      assert.ok(tokens >= (2 / 3) * 512, `${language}: ${tokens} of 512 tokens`);
    }
  });

  test('fails if the ledger does while it waits', async () => {
    const { tens, asked } = stream();
    const { answer } = await tens(20);
    const failed = assert.rejects(async () => answer, /no ledger/);
    await asked[0]?.fail();
    await failed;
  });
});

describe('a stream whose maximum is held', () => {
  const held = { maximum: STEP, fields: { max_tokens: STEP } };

  test('is never asked about below it', async () => {
    const { tens, asked, allowance } = stream(held);
    await tens(10);
    assert.deepEqual([asked.length, allowance.askAt > STEP], [0, true]);
  });

  test('goes on without a count, whatever the estimate says', async () => {
    const { tens, asked } = stream(held);
    assert.equal((await tens(60)).answer, undefined);
    assert.equal(asked.length, 0);
  });

  test('goes on while its count obeys the maximum, but for the difference of tokenizers', async () => {
    const { tens, asked } = stream({ ...held, count: () => 1.2 * STEP });
    assert.equal((await tens(60)).answer, undefined);
    assert.equal(asked.length, 0);
  });

  test('has to grow once its count does not', async () => {
    const { tens, asked } = stream({ ...held, count: () => 1.3 * STEP });
    const { answer } = await tens(60);
    await asked[0]?.answer(NOTHING_LEFT);
    assert.equal((await answer)?.code, 'insufficient_credit');
  });

  test('is counted again soon where the counter was busy', async () => {
    let counts = 0;
    const { tens, asked } = stream({ ...held, count: () => (++counts === 1 ? undefined : 1.3 * STEP) });
    await tens(18);
    assert.deepEqual([counts, asked.length], [2, 1]);
  });

  test('by its growth, holds no more than that', async () => {
    const { tens, asked } = stream({ maximum: 150, fields: { max_tokens: 150 } });
    await tens(10);
    assert.equal(asked[0]?.holdNanos, nanosOf(150));
    await asked[0]?.answer();
    assert.equal((await tens(5)).answer, undefined);
    assert.equal(asked.length, 1);
  });
});

describe('what a stream does not show', () => {
  test('is no part of what it may show: a prediction', async () => {
    const prediction = { type: 'content', content: TEN.repeat(8) };
    const { tens, asked } = stream({ fields: { prediction } });
    const { answer } = await tens(3);
    assert.ok(answer !== undefined);
    assert.ok((asked[0]?.holdNanos ?? 0n) >= nanosOf(80 + 30));
    await asked[0]?.answer();
    assert.equal(await answer, undefined);
  });
});

test('audio takes as much of a hold as it costs', async () => {
  const model = { ...MODEL, audioOutput: 20n * MODEL.output };
  const audio = { audio: { data: Buffer.alloc(2_400 * 6).toString('base64') } };
  const { write, asked } = stream({ model });
  assert.equal(write({ content: TEN }), undefined);
  const answer = write(audio);
  await turn();
  assert.ok((asked[0]?.holdNanos ?? 0n) >= nanosOf(10 + 6 * 20));
  await asked[0]?.answer();
  assert.equal(await answer, undefined);
});
