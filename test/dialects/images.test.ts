/** `POST /v1/images/generations`: what hosts get, what is held and charged by image and by token, and the ends of streams. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { streaming } from '../support/answers.ts';
import { formOf } from '../support/forms.ts';
import { sharedGateway, startTestGateway, type TestKey } from '../support/gateway.ts';

/** An image costs 40,000,000 nanodollars as it comes, and up to four times that; a token of text 1,000, of an image 2,000 and 8,000. */
const gateway = await sharedGateway({
  provider: {
    models: {
      painter: {
        upstream: 'painter-3',
        per: {
          image: {
            price: 0.04,
            variants: [
              { size: '1024x1024', quality: 'low', price: 0.01 },
              { size: '1024x1024', quality: 'high', price: 0.08 },
              { size: '1792x1024', quality: 'high', price: 0.16 },
            ],
          },
        },
      },
      flat: { per: { image: 0.04 } },
      grid: { per: { image: { price: 0.04, variants: [{ count: 4, price: 0.16 }] } } },
      tokens: { input: 1, output: 4, image_input: 2, image_output: 8, max_output: 1000 },
      both: { input: 1, output: 4, per: { image: 0.04 } },
      talker: { input: 1, output: 2 },
      endless: { input: 1, output: 4, image_output: 8 },
    },
  },
});

const BODY = { model: 'fake/painter', prompt: 'A blue square' };
const IMAGE = { b64_json: 'iVBORw0KGgo=' };
const USAGE = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 10, image_tokens: 40 },
  output_tokens: 300,
  total_tokens: 350,
};
const images = (count: number, fields: object = {}) => ({ created: 1, data: Array(count).fill(IMAGE), ...fields });

function post(key: TestKey, fields: object = {}) {
  return gateway.post('/v1/images/generations', key, { ...BODY, ...fields });
}

/** What was held when the host got the request. */
async function heldFor(fields: object, answer: object = images(1)): Promise<{ held: bigint; key: TestKey }> {
  const key = gateway.key();
  let held = 0n;
  gateway.upstream.follow((call) => {
    held = gateway.heldNanos(key);
    call.answer(200, answer);
  });
  const reply = await post(key, fields);
  assert.equal(reply.status, 200, reply.text);
  return { held, key };
}

test('a request reaches the host as it was written, but for its model, and its answer the client', async () => {
  const answer = `{ "created": 1,\n "data": [{"b64_json":"AAAA", "new": 1.50}] }`;
  gateway.upstream.follow((call) => call.answer(200, answer));
  const body = `{"prompt":"a","model":"fake/painter", "user":"u"}`;
  const reply = await gateway.post('/v1/images/generations', gateway.key(), body);
  assert.equal(reply.text, answer);
  const call = await gateway.upstream.call();
  assert.deepEqual([call.path, call.body], ['/base/v1/images/generations', body.replace('fake/painter', 'painter-3')]);
});

describe('images by the piece', () => {
  for (const [what, fields, answer, held, charged, price] of [
    [
      'of a size and quality',
      { size: '1024x1024', quality: 'low' },
      images(1),
      10,
      10,
      'per_image(quality:low,size:1024x1024)=0.01 units=1',
    ],
    ['of which the host chooses both', {}, images(1), 160, 160, 'per_image(quality:high,size:1792x1024)=0.16 units=1'],
    [
      'chosen by `auto`, and said',
      { size: 'auto' },
      images(1, { size: '1024x1024', quality: 'low' }),
      160,
      10,
      undefined,
    ],
    [
      'of which some are not delivered',
      { n: 4 },
      images(3, { size: '1024x1024', quality: 'high' }),
      640,
      240,
      undefined,
    ],
    [
      'at one price for all',
      { model: 'fake/flat', size: '4x4', quality: 'max' },
      images(1),
      40,
      40,
      'per_image=0.04 units=1',
    ],
  ] as const) {
    test(`are held at the dearest and charged by the answer: ${what}`, async () => {
      const { held: seen, key } = await heldFor(fields, answer);
      const row = await gateway.row(key);
      assert.deepEqual([Number(seen) / 1e6, row.cost_nanos / 1e6, row.source], [held, charged, 'reported']);
      if (price !== undefined) assert.equal(row.price, `0/0/0 ${price}`);
    });
  }

  test('reach the host with settings of one image, and with a number that their price has a variant for', async () => {
    const settings = { model: 'fake/flat', seed: 42, steps: 30, guidance_scale: 7, width: 64, count: 1, strength: 0.5 };
    assert.equal(Number((await heldFor(settings)).held), 40_000_000);
    assert.equal(Number((await heldFor({ model: 'fake/grid', count: 4 })).held), 160_000_000);
  });

  test('are charged beside tokens where both have prices', async () => {
    const { key } = await heldFor({ model: 'fake/both' }, images(1, { usage: USAGE }));
    assert.equal((await gateway.row(key)).cost_nanos, 40_000_000 + 50 * 1_000 + 300 * 4_000);
  });

  for (const [what, fields, problem] of [
    ['a quality without a price', { size: '1024x1024', quality: 'max' }, /^quality: .* per image with quality max/],
    ['a size without one', { size: '8x8' }, /^size: this model has no price per image with size 8x8/],
    ['a field that nobody knows', { steps: 50 }, /^steps: this model has no price/],
    [
      'a number that may be one of images',
      { model: 'fake/flat', options: { count: 4 } },
      /^options.count: it may be a number of images; use n, which is held for, or have a price variant set for it$/,
    ],
    ['a series', { model: 'fake/flat', sequential_image_generation: 'auto' }, /^sequential_image_generation: a series/],
    ['a moving picture', { output_format: 'gif' }, /^output_format: this model has no price/],
    ['a drawing that another model writes', { output_format: 'svg' }, /^output_format: svg changes the price/],
    ['no prompt', { prompt: '' }, /^prompt: expected a string/],
    ['too many', { n: 129 }, /^n: expected a whole number from 1 to 128/],
    [
      'a model without a price for them',
      { model: 'fake/talker' },
      /^model: this model has no price for images; have per: { image }, or image_output and max_output set/,
    ],
    ['a model whose images have no bound', { model: 'fake/endless' }, /^model: this model has no price for images/],
    ['a maximum of another format', { max_tokens: 1 }, /^max_tokens: a field of another format/],
  ] as const) {
    test(`are refused: ${what}`, async () => {
      const reply = await post(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});

describe('images by the token', () => {
  const TOKENS = { model: 'fake/tokens' };

  test('are charged for text and images, read and written', async () => {
    const { key } = await heldFor(TOKENS, images(1, { usage: USAGE }));
    const row = await gateway.row(key);
    assert.deepEqual([row.prompt_tokens, row.completion_tokens, row.source], [50, 300, 'reported']);
    assert.equal(row.cost_nanos, 10 * 1_000 + 40 * 2_000 + 300 * 8_000);
    assert.equal(row.price, '1/1/4 image_input=2 image_output=8');
  });

  test('are charged for text that is written beside them', async () => {
    const usage = { ...USAGE, output_tokens_details: { image_tokens: 200, text_tokens: 100 } };
    const { key } = await heldFor(TOKENS, images(1, { usage }));
    assert.equal((await gateway.row(key)).cost_nanos, 10 * 1_000 + 40 * 2_000 + 200 * 8_000 + 100 * 4_000);
  });

  test('are held at the most that each can have, with what it shows on the way', async () => {
    const { held } = await heldFor({ ...TOKENS, n: 2, partial_images: 3 }, images(2, { usage: USAGE }));
    const output = 2 * (1_000 + 3 * 100) * 8_000;
    assert.ok(held > output && held < output + 100_000, String(held));
  });

  test('move at the price of each frame', async () => {
    const { held } = await heldFor({ ...TOKENS, output_format: 'gif', frame_count: 4 }, images(1, { usage: USAGE }));
    assert.ok(held > 4 * 1_000 * 8_000, String(held));
  });

  test('are charged as held where their host reports nothing', async () => {
    const { held, key } = await heldFor(TOKENS, images(1));
    assert.equal((await gateway.row(key)).cost_nanos, Number(held));
  });
});

const event = (type: string, fields: object = {}) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...IMAGE, ...fields })}\n\n`;
const PARTIAL = event('image_generation.partial_image', { partial_image_index: 0 });
const COMPLETED = event('image_generation.completed', { usage: USAGE, size: '1024x1024', quality: 'low' });

describe('streamed images', () => {
  const STREAMED = { model: 'fake/tokens', stream: true };

  test('pass unchanged, and are charged by their last event', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(PARTIAL, COMPLETED));
    assert.equal((await post(key, { ...STREAMED, partial_images: 1 })).text, PARTIAL + COMPLETED);
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source], ['ok', 'reported']);
    assert.equal(row.cost_nanos, 10 * 1_000 + 40 * 2_000 + 300 * 8_000);
  });

  test('are charged for each of several', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(COMPLETED, COMPLETED));
    assert.equal((await post(key, { ...STREAMED, n: 2 })).text, COMPLETED + COMPLETED);
    assert.equal((await gateway.row(key)).cost_nanos, 2 * (10 * 1_000 + 40 * 2_000 + 300 * 8_000));
  });

  test('by the piece, too', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(COMPLETED));
    await post(key, { stream: true });
    assert.equal((await gateway.row(key)).cost_nanos, 10_000_000);
  });

  for (const [what, model, n, cut] of [
    ['before the first', 'tokens', 1, [PARTIAL]],
    ['between two', 'tokens', 2, [COMPLETED]],
    ['before the first', 'painter', 1, [PARTIAL]],
    ['between two', 'painter', 2, [COMPLETED]],
  ] as const) {
    test(`that break off ${what} fail, and are charged as held by ${model}`, async () => {
      const key = gateway.key();
      let held = 0n;
      gateway.upstream.follow((call) => {
        held = gateway.heldNanos(key);
        streaming(...cut)(call);
      });
      const reply = await post(key, { stream: true, n, model: `fake/${model}` });
      assert.match(reply.text, /event: error\ndata: {"error":{"code":"upstream_error"/);
      const row = await gateway.row(key);
      assert.deepEqual([row.outcome, BigInt(row.cost_nanos), row.source], ['upstream_error', held, 'counted']);
    });
  }

  test('whose host reports an error at first cost nothing', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming('event: error\ndata: {"type":"error","error":{"message":"no"}}\n\n'));
    const reply = await post(key, STREAMED);
    assert.deepEqual([reply.status, (await gateway.row(key)).cost_nanos], [502, 0]);
  });

  test('are no discount for who leaves', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.stream();
      call.send(PARTIAL);
    });
    const leaving = new AbortController();
    const body = JSON.stringify({ ...BODY, ...STREAMED });
    const response = await gateway.open('/v1/images/generations', {
      key,
      method: 'POST',
      body,
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    leaving.abort();
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, BigInt(row.cost_nanos)], ['cancelled', held]);
  });
});

test('a request is refused without the credit for its dearest image, and nothing is sent', async () => {
  const poor = await startTestGateway({
    provider: {
      models: { painter: { per: { image: { price: 0.04, variants: [{ quality: 'high', price: 0.16 }] } } } },
    },
    credit: '0.15',
  });
  try {
    const send = (fields: object) => poor.post('/v1/images/generations', poor.key(), { ...BODY, ...fields });
    const reply = await send({});
    assert.deepEqual([reply.status, reply.error.code], [402, 'insufficient_credit']);
    assert.equal(poor.upstream.calls.length, 0);
  } finally {
    await poor.stop();
  }
});

describe('an edit', () => {
  const PIXEL = readFileSync(new URL('../unit/wire/media/fixtures/40x30.png', import.meta.url));

  async function edit(key: TestKey, fields: readonly (readonly [string, string | Buffer])[]) {
    const form = await formOf([['image', PIXEL], ['prompt', 'a hat'], ...fields]);
    return gateway.request('/v1/images/edits', { key, method: 'POST', ...form });
  }

  test('is a form that reaches its host, and is charged like what is made anew', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => call.answer(200, images(1, { size: '1024x1024', quality: 'low' })));
    const reply = await edit(key, [
      ['model', 'fake/painter'],
      ['size', '1024x1024'],
      ['quality', 'low'],
    ]);
    assert.equal(reply.status, 200, reply.text);
    const call = await gateway.upstream.call();
    assert.equal(call.path, '/base/v1/images/edits');
    assert.match(call.body, /name="model"\r\n\r\npainter-3\r\n/);
    assert.equal((await gateway.row(key)).cost_nanos, 10_000_000);
  });

  test('is held for the images that it reads, at their price', async () => {
    const key = gateway.key();
    let held = 0n;
    gateway.upstream.follow((call) => {
      held = gateway.heldNanos(key);
      call.answer(200, images(1, { usage: USAGE }));
    });
    await edit(key, [
      ['model', 'fake/tokens'],
      ['mask', PIXEL],
    ]);
    assert.ok(held > 1_000n * 8_000n + 2n * 6_240n * 2_000n, String(held));
    assert.equal((await gateway.row(key)).cost_nanos, 10 * 1_000 + 40 * 2_000 + 300 * 8_000);
  });

  test('is streamed where its form says so', async () => {
    const key = gateway.key();
    const done = event('image_edit.completed', { usage: USAGE });
    gateway.upstream.follow(streaming(event('image_edit.partial_image'), done));
    const reply = await edit(key, [
      ['model', 'fake/tokens'],
      ['stream', 'true'],
      ['partial_images', '1'],
    ]);
    assert.ok(reply.text.endsWith(done));
    assert.equal((await gateway.row(key)).outcome, 'ok');
  });

  for (const [fields, problem] of [
    [
      [
        ['model', 'fake/painter'],
        ['n', 'two'],
      ],
      /^n: expected a whole number/,
    ],
    [
      [
        ['model', 'fake/painter'],
        ['image[]', 'text'],
      ],
      /^image\[\]: expected a file/,
    ],
    [
      [
        ['model', 'fake/painter'],
        ['quality', 'max'],
      ],
      /^quality: this model has no price/,
    ],
    [
      [
        ['model', 'fake/painter'],
        ['extra', PIXEL],
      ],
      /^extra: expected a text, and no file/,
    ],
  ] as const) {
    test(`is refused: ${fields[1]?.[0]}`, async () => {
      const reply = await edit(gateway.key(), fields);
      assert.equal(reply.status, 400);
      assert.match(reply.error.message, problem);
    });
  }
});
