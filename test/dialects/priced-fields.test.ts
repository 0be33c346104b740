/** `speed` and `inference_geo` of messages: priced by the config, held at the dearest price, charged as the host reports them. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';

/** Nanodollars per token. */
const ORDINARY = { input: 1_000, output: 5_000 };
const FAST = { input: 6_000, output: 30_000 };
const US = { input: 1_100, output: 5_500 };
const usd = ({ input, output }: typeof FAST) => ({
  ...{ input: input / 1_000, output: output / 1_000 },
  ...{ cache_write: input / 1_000, cache_write_1h: input / 1_000 },
});
const gateway = await startTestGateway({
  provider: {
    kind: 'anthropic',
    models: {
      priced: {
        ...usd(ORDINARY),
        speeds: { fast: usd(FAST) },
        inference_geos: { us: usd(US), cheap: usd({ input: 1, output: 1 }) },
      },
      plain: usd(ORDINARY),
    },
  },
});
after(() => gateway.stop());

const USAGE = { input_tokens: 100, output_tokens: 10 };
const costOf = ({ input, output }: typeof FAST) => 100 * input + 10 * output;

interface Asked {
  readonly fields?: object;
  readonly usage?: object;
  readonly model?: string;
}

/** Sends a request, and returns the reply, its hold while the host works, and its row. */
async function ask({ fields = {}, usage = {}, model = 'priced' }: Asked) {
  const key = gateway.key();
  let heldNanos = 0;
  gateway.upstream.follow((call) => {
    heldNanos = Number(gateway.heldNanos(key));
    call.answer(200, {
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      usage: { ...USAGE, ...usage },
    });
  });
  const body = { model: `fake/${model}`, max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }], ...fields };
  const reply = await gateway.post('/v1/messages', key, body);
  return { reply, heldNanos, row: gateway.rows(key)[0] };
}

const CHARGED: readonly (readonly [what: string, asked: Asked, price: typeof FAST])[] = [
  ['a fast request without a report of its speed', { fields: { speed: 'fast' } }, FAST],
  ['a fast request that the host has served fast', { fields: { speed: 'fast' }, usage: { speed: 'fast' } }, FAST],
  [
    'a fast request that the host has served at the ordinary speed',
    { fields: { speed: 'fast' }, usage: { speed: 'standard' } },
    ORDINARY,
  ],
  [
    'a fast request of the ordinary tier, with a report of the tier alone',
    { fields: { speed: 'fast', service_tier: 'auto' }, usage: { service_tier: 'standard' } },
    FAST,
  ],
  ['an ordinary request that the host has served fast', { usage: { speed: 'fast' } }, FAST],
  ['a request for a place', { fields: { inference_geo: 'us' }, usage: { inference_geo: 'us' } }, US],
  [
    'a request for a place that the host has served elsewhere',
    { fields: { inference_geo: 'us' }, usage: { inference_geo: 'global' } },
    ORDINARY,
  ],
  ['a request for no place', { fields: { inference_geo: 'global', speed: 'standard' } }, ORDINARY],
];

describe('charged by its price is', () => {
  for (const [what, asked, price] of CHARGED) {
    test(what, async () => {
      const { reply, row } = await ask(asked);
      assert.equal(reply.status, 200, reply.text);
      assert.equal(row?.cost_nanos, costOf(price));
    });
  }
});

test('a request is held at the dearest price that it may have', async () => {
  const { heldNanos: fast } = await ask({ fields: { speed: 'fast' } });
  const { heldNanos: ordinary } = await ask({});
  const { heldNanos: cheap } = await ask({ fields: { inference_geo: 'cheap' } });
  // The estimate of the input counts the fields, too.
  assert.ok(fast >= 6 * ordinary && fast < 6.1 * ordinary, `${fast} of ${ordinary}`);
  assert.ok(cheap >= ordinary && cheap < 1.1 * ordinary, `${cheap} of ${ordinary}`);
});

describe('refused is', () => {
  for (const [what, asked, problem] of [
    [
      'a speed without a price',
      { model: 'plain', fields: { speed: 'fast' } },
      /^speed: this model has no price for "fast"; expected one of standard$/,
    ],
    [
      'a place without a price',
      { fields: { inference_geo: 'eu' } },
      /^inference_geo: this model has no price for "eu"; expected one of global, us, cheap$/,
    ],
    ['a speed and a place', { fields: { speed: 'fast', inference_geo: 'us' } }, /cannot be combined/],
    [
      'a cheaper price by the name of a service tier',
      { fields: { service_tier: 'inference_geo=cheap' } },
      /^service_tier: expected the name of a service tier/,
    ],
  ] as const) {
    test(what, async () => {
      const { reply } = await ask(asked);
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, problem);
    });
  }
});
