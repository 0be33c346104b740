/** What changes a price is priced or refused: service tiers, cache writes, audio, long contexts, predictions, and fields of the host. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { answering, chunk, completion, DONE, streaming } from '../support/answers.ts';
import { assertError } from '../support/expect.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, sharedGateway, withGateway } from '../support/gateway.ts';
import { costOfCounted, outputTokens } from '../support/tokens.ts';

const CONFIG = {
  provider: {
    refuse_fields: ['models', 'route'],
    models: {
      // In thousand nanodollars per token, each price another.
      priced: {
        input: 10,
        cached_input: 1,
        output: 40,
        cache_write: 12,
        audio_input: 30,
        audio_output: 80,
        above: { tokens: 100, input: 20, output: 60 },
        service_tiers: { priority: { input: 100, output: 400 } },
        default_output: 10,
      },
      plain: { input: 1, output: 1 },
    },
  },
} as const;

const priced = (fields: Record<string, unknown> = {}) => chat({ model: 'fake/priced', ...fields });

const CHARGED: readonly (readonly [
  what: string,
  fields: object,
  answer: Record<string, unknown>,
  thousandNanos: number,
])[] = [
  ['the ordinary tier', {}, { usage: { prompt_tokens: 2, completion_tokens: 1 } }, 60],
  [
    'a tier with prices',
    { service_tier: 'priority' },
    { usage: { prompt_tokens: 2, completion_tokens: 1 }, service_tier: 'priority' },
    600,
  ],
  [
    'a tier that the host did not have',
    { service_tier: 'priority' },
    { usage: { prompt_tokens: 2, completion_tokens: 1 }, service_tier: 'default' },
    60,
  ],
  [
    'a tier that the host chose by itself',
    { service_tier: 'auto' },
    { usage: { prompt_tokens: 2, completion_tokens: 1 }, service_tier: 'priority' },
    600,
  ],
  [
    'tokens written to the cache',
    {},
    {
      usage: {
        prompt_tokens: 10,
        completion_tokens: 0,
        prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 4 },
      },
    },
    3 * 1 + 4 * 12 + 3 * 10,
  ],
  [
    'audio',
    { modalities: ['text', 'audio'], audio: { voice: 'x', format: 'wav' } },
    {
      usage: {
        prompt_tokens: 5,
        completion_tokens: 4,
        prompt_tokens_details: { audio_tokens: 2 },
        completion_tokens_details: { audio_tokens: 3 },
      },
    },
    3 * 10 + 2 * 30 + 1 * 40 + 3 * 80,
  ],
  ['a long context', {}, { usage: { prompt_tokens: 101, completion_tokens: 1 } }, 101 * 20 + 60],
];

describe('a request is charged for', () => {
  for (const [what, fields, answer, thousandNanos] of CHARGED) {
    test(what, () =>
      withGateway(CONFIG, async (gateway) => {
        const key = gateway.key();
        gateway.upstream.follow((call) => call.answer(200, completion('hi', answer)));
        assert.equal((await gateway.complete(key, priced({ ...fields }))).status, 200);
        assert.equal((await gateway.row(key)).cost_nanos, thousandNanos * 1_000);
      }),
    );
  }
});

describe('a request is refused, and nothing is sent, for', () => {
  const REFUSED: readonly (readonly [what: string, body: string, message: RegExp])[] = [
    ['a tier without a price', priced({ service_tier: 'flex' }), /^service_tier: .*auto, default, priority/],
    ['a tier at a model that has none', chat({ model: 'fake/plain', service_tier: 'priority' }), /^service_tier: /],
    ['a tier that is no string', priced({ service_tier: 1 }), /^service_tier: expected a string/],
    ['a field that the provider refuses', priced({ models: ['dear'] }), /^models: /],
    ['the same in another case', priced({ Route: 'x' }), /^Route: /],
    ['a second model in another case', priced({ Model: 'dear' }), /^Model: /],
  ];
  for (const [what, body, message] of REFUSED) {
    test(what, () =>
      withGateway(CONFIG, async (gateway) => {
        const reply = await gateway.complete(gateway.key(), body);
        assert.match(assertError(reply, 400, 'invalid_request'), message);
        assert.equal(gateway.upstream.calls.length, 0);
      }),
    );
  }
});

const gateway = await sharedGateway();

const PREDICTED = 'one two three four five six seven eight nine ten '.repeat(20);
const TOKENS = outputTokens(PREDICTED);
const predicting = (fields: object = {}, content: unknown = PREDICTED) =>
  chat({ prediction: { type: 'content', content }, max_tokens: 100, ...fields });

/** What is held for a request when it reaches its host. */
async function held(body: string): Promise<number> {
  const key = gateway.key();
  let nanos = 0n;
  gateway.upstream.follow((call) => {
    nanos = gateway.heldNanos(key);
    answering(completion('hi'))(call);
  });
  await gateway.complete(key, body);
  return Number(nanos);
}

describe('a prediction is held as output beside the maximum,', () => {
  const ROWS: readonly (readonly [what: string, fields: object, content: unknown, output: number])[] = [
    ['of a text', {}, PREDICTED, 100 + TOKENS],
    ['of parts', {}, [{ type: 'text', text: PREDICTED }], 100 + TOKENS],
    ['for each choice', { n: 2 }, PREDICTED, 2 * (100 + TOKENS)],
  ];
  for (const [what, fields, content, output] of ROWS) {
    test(what, async () => {
      const [nanos, withoutIt] = [
        await held(predicting(fields, content)),
        await held(chat({ max_tokens: 100, ...fields })),
      ];
      const more = 2_000 * (output - 100 * ((fields as { n?: number }).n ?? 1));
      // It also counts as input.
      assert.ok(nanos >= withoutIt + more, `${nanos} with it, ${withoutIt} without`);
      assert.ok(
        nanos <= withoutIt + 1.1 * more + 1_000 * 1.1 * (TOKENS + 20),
        `${nanos} with it, ${withoutIt} without`,
      );
    });
  }
});

describe('a prediction is charged as output', () => {
  const ended: Script = streaming(chunk('some words', 'stop'), DONE);
  test('where the host reports nothing', async () => {
    const key = gateway.key();
    gateway.upstream.follow(ended);
    await gateway.complete(key, predicting({ stream: true }));
    const row = await gateway.row(key);
    assert.equal(row.completion_tokens, outputTokens('some words') + TOKENS);
    assert.equal(row.cost_nanos, costOfCounted(row.prompt_tokens, row.completion_tokens));
  });

  test('where the client leaves before the report', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(chunk('some words'));
    });
    const connection = await gateway.asking(key, predicting({ stream: true }));
    await connection.has('some words');
    connection.leave();
    assert.equal((await gateway.row(key)).completion_tokens, outputTokens('some words') + TOKENS);
  });

  test('as far as the host reports it', async () => {
    const key = gateway.key();
    const details = { accepted_prediction_tokens: 1, rejected_prediction_tokens: 40 };
    const usage = { prompt_tokens: 10, completion_tokens: 50, completion_tokens_details: details };
    gateway.upstream.follow(answering(completion('hi', { usage })));
    await gateway.complete(key, predicting());
    assert.equal((await gateway.row(key)).cost_nanos, costOfCounted(10, 50));
  });
});
