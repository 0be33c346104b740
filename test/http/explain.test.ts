/** An explanation says what the gateway then does: the same status, code and message, and takes nothing. */
import assert from 'node:assert/strict';
import test, { describe } from 'node:test';
import type { Explanation } from '../../src/core/explanation.ts';
import { formatUsd } from '../../src/core/money.ts';
import { answering } from '../support/answers.ts';
import { sharedGateway, type TestKey, withGateway } from '../support/gateway.ts';
import { wavOf } from '../support/media.ts';

const gateway = await sharedGateway({
  config: { max_body: '2kb' },
  provider: {
    refuse_fields: ['route'],
    dialects: ['messages'],
    models: {
      echo: { input: 1, output: 2, max_output: 1000, default_output: 100 },
      spare: { input: 3, output: 4, fallback: ['fake/echo'] },
      cheap: { input: 1, output: 2, fallback: ['fake/dear'] },
      dear: { input: 100_000_000, output: 100_000_000 },
      modest: { input: 1, output: 2, default_output: 50, fallback: ['fake/ample'] },
      ample: { input: 10, output: 20, default_output: 700 },
    },
  },
});

const CHAT = '/v1/chat/completions';
const MESSAGES = '/v1/messages';
const say = (fields: object = {}) =>
  JSON.stringify({ model: 'fake/echo', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }], ...fields });

interface Case {
  readonly what: string;
  readonly key?: Parameters<typeof gateway.key>[0];
  readonly prepare?: (key: TestKey) => unknown;
  readonly body?: string;
  readonly path?: string;
  /** The step that refuses. */
  readonly at: string;
}

const REFUSED: readonly Case[] = [
  { what: 'a disabled key', prepare: (key) => gateway.setState(key, 'disabled'), at: 'key' },
  { what: 'a deleted key', prepare: (key) => gateway.setState(key, 'deleted'), at: 'key' },
  { what: 'a body that is too large', body: say({ x: 'x'.repeat(3_000) }), at: 'body' },
  { what: 'no JSON', body: '{"model": ', at: 'body' },
  { what: 'no model', body: '{}', at: 'body' },
  { what: 'an unknown model', body: say({ model: 'fake/none' }), at: 'model' },
  { what: 'a dialect that cannot reach the model', body: say({ input: 'x' }), path: '/v1/embeddings', at: 'model' },
  { what: 'an allowlist', key: { allowlist: ['fake/spare'] }, at: 'allowlist' },
  { what: 'an invalid field', body: say({ messages: 5 }), at: 'request' },
  { what: 'what a translation cannot say', body: say({ n: 2 }), at: 'request' },
  { what: 'a field that the provider refuses', body: say({ route: 'x', system: 'y' }), path: MESSAGES, at: 'request' },
  { what: 'a spend limit', key: { spendLimitNanos: 0n }, at: 'spend_limit' },
  { what: 'a budget', key: { budgets: [{ period: 'week', limitNanos: 0n }] }, at: 'budget' },
  { what: 'a request larger than the token limit', key: { tpm: 5 }, at: 'size' },
];

function refusedAt({ steps }: Explanation): string | undefined {
  return steps.find(({ status }) => status === 'refused')?.step;
}

describe('an explanation says what is then answered:', () => {
  for (const { what, key: settings, prepare, body = say(), path = CHAT, at } of REFUSED) {
    test(what, async () => {
      const key = gateway.key(settings);
      prepare?.(key);
      const foretold = await gateway.explain(key, body, path);
      const answer = await gateway.post(path, key, body);
      const { error } = JSON.parse(answer.text) as { error: { code: string; message: string } };
      assert.deepEqual([foretold.status, foretold.code, foretold.message], [answer.status, error.code, error.message]);
      assert.equal(refusedAt(foretold), at);
      const names = foretold.steps.map(({ step }) => step);
      assert.equal(new Set(names).size, names.length, 'each step comes once');
    });
  }

  test('a limit that is reached', async () => {
    gateway.upstream.follow(
      answering({
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'hi' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 3, output_tokens: 2 },
      }),
    );
    const key = gateway.key({ rpm: 1 });
    const free = await gateway.explain(key, say(), CHAT);
    assert.deepEqual([free.status, free.code, refusedAt(free)], [200, null, undefined]);
    // Asking takes nothing.
    await gateway.explain(key, say(), CHAT);
    assert.equal((await gateway.post(CHAT, key, say())).status, 200);
    const full = await gateway.explain(key, say(), CHAT);
    assert.deepEqual([full.status, full.code, refusedAt(full)], [429, 'rate_limited', 'requests_per_minute']);
    const step = full.steps.find((each) => each.step === 'requests_per_minute');
    assert.partialDeepStrictEqual(step, { limit: 1, used: 1, left: 0 });
  });
});

test('money that a group has left is held for requests in flight: the step names the group, and what it holds', async () => {
  const group = { name: 'research', spendLimitNanos: 15_000n };
  const groupId = gateway.group(group);
  const [busy, key] = [gateway.key({ groupId }), gateway.key({ groupId })];
  const release = gateway.upstream.followLater((call) => call.answer(400, { error: { message: 'no' } }));
  const inFlight = gateway.post(CHAT, busy, say());
  await gateway.upstream.call();
  const held = formatUsd(gateway.heldNanos(busy));
  const foretold = await gateway.explain(key, say(), CHAT);
  const answer = await gateway.post(CHAT, key, say());
  release();
  await inFlight;
  assert.deepEqual([foretold.status, foretold.message], [429, JSON.parse(answer.text).error.message]);
  assert.match(foretold.message, /group research/);
  const refused = foretold.steps.find(({ status }) => status === 'refused');
  const level = { kind: 'group', name: group.name };
  assert.partialDeepStrictEqual(refused, { step: 'held_money', level, held_usd: held });
});

test('an explanation has the figures that the request is then held by', async () => {
  const key = gateway.key();
  const explained = await gateway.explain(key, say({ model: 'fake/spare' }), CHAT);
  const figures = Object.fromEntries(explained.steps.map((each) => [each.step, each]));
  assert.partialDeepStrictEqual(figures, {
    body: { dialect: 'chat' },
    request: { hosts: [{ model: 'fake/spare', dialect: 'messages', is_translated: true }, { model: 'fake/echo' }] },
    estimate: { declared_output_tokens: 10, output_tokens: 10 },
    price: { input_usd: '3.00', output_usd: '4.00', journal: '3/3/4' },
    route: { candidates: [{ model: 'fake/spare', upstreams: [{ name: 'fake', state: 'closed', is_next: true }] }, {}] },
  });
  const { input_tokens: input, reserved_tokens: reserved } = figures.estimate as unknown as Record<string, number>;
  assert.equal(reserved, (input ?? 0) + 10);
  assert.equal(figures.hold?.hold_usd, ((3 * (input ?? 0) + 40) / 1e6).toFixed(6));
});

test('a fallback that cannot be paid for is left out, as admission leaves it out', async () => {
  const { status, steps } = await gateway.explain(gateway.key(), say({ model: 'fake/cheap' }), CHAT);
  assert.equal(status, 200);
  assert.deepEqual(steps.find(({ step }) => step === 'hold')?.models, ['fake/cheap']);
});

test('the estimate and the price are those of the model that is asked, beside a dearer fallback', async () => {
  const { steps } = await gateway.explain(gateway.key(), say({ model: 'fake/modest', max_tokens: undefined }), CHAT);
  const of = (name: string) => steps.find(({ step }) => step === name);
  const { input_tokens: input, output_tokens: output } = of('estimate') as unknown as Record<string, number>;
  assert.deepEqual([output, of('price')?.journal], [50, '1/1/2']);
  assert.equal(of('hold')?.hold_usd, formatUsd(BigInt(10_000 * (input ?? 0) + 700 * 20_000)));
});

test('a fallback whose provider is not active is named, with what is not set', async () => {
  const host = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: { echo: { input: 1, output: 2 } } };
  const fake = { ...host, models: { echo: { ...host.models.echo, fallback: ['spare/echo'] } } };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the config
  const spare = { ...host, api_key: '${NOT_SET_HERE}' };
  await withGateway({ config: { providers: { fake, spare } } }, async (own) => {
    const { status, steps } = await own.explain(own.key(), say(), CHAT);
    assert.equal(status, 200);
    const step = steps.find((each) => each.step === 'model');
    assert.match(step?.message ?? '', /its fallback spare\/echo is not active: NOT_SET_HERE is not set/);
    assert.deepEqual(step?.inactive_fallbacks, ['spare/echo']);
  });
});

test('a model whose provider is inactive does not exist for clients, and the operator learns how to activate it', async () => {
  const host = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', models: { echo: { input: 1, output: 2 } } };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of the config
  const providers = { off: { ...host, api_key: '${NOT_SET_HERE}' }, on: host };
  await withGateway({ config: { providers, aliases: { quick: 'off/echo' } } }, async (own) => {
    const key = own.key();
    for (const model of ['off/echo', 'quick']) {
      const sent = await own.post(CHAT, key, JSON.parse(say({ model })));
      const { status, code, message, steps } = await own.explain(key, say({ model }), CHAT);
      assert.deepEqual([status, code, message], [404, 'model_not_found', sent.error.message]);
      assert.doesNotMatch(message, /NOT_SET_HERE|inactive/);
      const step = steps.find((each) => each.status === 'refused');
      assert.match(
        step?.message ?? '',
        /^off\/echo is in the config, but its provider off is inactive because NOT_SET_HERE is not set; set it .* \.env/,
      );
      assert.deepEqual([step?.step, step?.model, step?.missing_variable], ['model', 'off/echo', 'NOT_SET_HERE']);
    }
    const { steps } = await own.explain(key, say({ model: 'off/none' }), CHAT);
    assert.equal(steps.find((each) => each.status === 'refused')?.missing_variable, undefined);
  });
});

test('a body of Google’s is explained by its path, which has the model', async () => {
  const body = JSON.stringify({ contents: [{ role: 'user', parts: [{ text: 'hi' }] }] });
  const { status, steps } = await gateway.explain(
    gateway.key(),
    body,
    '/v1beta/models/fake/echo:streamGenerateContent',
  );
  assert.equal(status, 200);
  assert.partialDeepStrictEqual(steps, [{}, { step: 'body', dialect: 'gemini' }, { model: 'fake/echo' }]);
});

test('what is billed by the piece is explained without tokens, and has no price for them', async () => {
  const models = {
    painter: { per: { image: 0.04 } },
    maker: { input: 1, output: 2, image_output: 3, max_output: 100 },
  };
  await withGateway({ provider: { models } }, async (own) => {
    const stepsFor = async (model: string) => {
      const body = JSON.stringify({ model, prompt: 'a cat', n: 2 });
      const { steps } = await own.explain(own.key(), body, '/v1/images/generations');
      return Object.fromEntries(steps.map((each) => [each.step, each]));
    };
    const { estimate, price } = await stepsFor('fake/painter');
    assert.partialDeepStrictEqual(estimate, { input_tokens: 0, text_tokens: 0, other_tokens: 0, output_tokens: 0 });
    assert.deepEqual(
      [estimate?.message, price?.message],
      ['no tokens: fake/painter is billed by the piece alone', '0.04 USD per image, from the config'],
    );
    const byTokens = await stepsFor('fake/maker');
    assert.match(byTokens.estimate?.message ?? '', / and 200 of output \(the most that fake\/maker makes of it\)/);
    assert.equal(
      byTokens.price?.message,
      '1.00 in, 2.00 out, 3.00 for image_output, USD per million tokens, from the config',
    );
  });
});

test('the prices of audio and images that a request may have are explained, and the image that is held', async () => {
  const models = {
    listener: { input: 1, output: 2, audio_input: 3, cached_audio_input: 0.5 },
    painter: { upstream: 'gemini-2.5-flash-image', input: 1, output: 2, image_output: 30 },
  };
  await withGateway({ provider: { models } }, async (own) => {
    const stepsFor = async (fields: object) => {
      const { steps } = await own.explain(own.key(), say(fields), '/v1/chat/completions');
      return Object.fromEntries(steps.map((each) => [each.step, each]));
    };
    const data = wavOf(8_000, 1).toString('base64');
    const heard = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data, format: 'wav' } }] }];
    const { price: spoken } = await stepsFor({ model: 'fake/listener', messages: heard });
    assert.equal(spoken?.message, '1.00 in, 2.00 out, 3.00 for audio_input, USD per million tokens, from the config');
    assert.equal(spoken?.audio_input_usd, '3.00');
    const { price, estimate } = await stepsFor({ model: 'fake/painter', max_tokens: 10 });
    assert.equal(price?.image_output_usd, '30.00');
    assert.match(estimate?.message ?? '', / 2,520 of output \(an image, which fake\/painter may return\)/);
  });
});

test('a body without a path is one of the dialect that it looks like', async () => {
  const key = gateway.key();
  const dialectOf = async (fields: object) =>
    (await gateway.explain(key, say(fields))).steps.find(({ step }) => step === 'body')?.dialect;
  assert.equal(await dialectOf({}), 'chat');
  assert.equal(await dialectOf({ system: 'x' }), 'messages');
  assert.equal(await dialectOf({ tools: [{ name: 'f', input_schema: {} }] }), 'messages');
  assert.equal(await dialectOf({ model: 'fake/echo[1m]' }), 'messages');
  assert.equal(await dialectOf({ messages: undefined, input: 'x' }), 'responses');
  assert.equal(await dialectOf({ messages: undefined, input: 'x', dimensions: 5 }), 'embeddings');
});
