/** Requests whose end the gateway does not see, on every endpoint: they are charged as held, by tokens and by units. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { completion } from '../support/answers.ts';
import type { FakeUpstream } from '../support/fake-upstream.ts';
import { formOf } from '../support/forms.ts';
import { type Sending, type TestGateway, withGateway } from '../support/gateway.ts';

const TOKENS = { input: 1, output: 4, max_output: 1000 };
const MODELS = {
  talker: { ...TOKENS, tools: { web_search: 0.01 } },
  reader: { upstream: 'tts-1', per: { character: 0.000015 } },
  actor: { ...TOKENS, audio_output: 10 },
  listener: { upstream: 'whisper-1', per: { minute: 0.006 } },
  scribe: { ...TOKENS, audio_input: 6 },
  painter: { per: { image: 0.04 } },
  brush: { ...TOKENS, image_input: 2, image_output: 8 },
  searched: { per: { search: 0.002 } },
  embed: { input: 1, output: 0 },
};
const MESSAGES = [{ role: 'user', content: 'Hello!' }];
const SOUND = readFileSync(new URL('../unit/wire/media/fixtures/1.5s-opus.ogg', import.meta.url));
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const json = (path: string, model: string, fields: object) =>
  [`${path} of ${model}`, path, async () => ({ body: JSON.stringify({ model: `fake/${model}`, ...fields }) })] as const;
const form = (
  path: string,
  model: string,
  file: string,
  content: Buffer,
  fields: Readonly<Record<string, string>> = {},
) =>
  [
    `${path} of ${model}`,
    path,
    () => formOf([['model', `fake/${model}`], [file, content], ...Object.entries(fields)]),
  ] as const;

const ENDPOINTS: readonly (readonly [name: string, path: string, body: () => Promise<Partial<Sending>>])[] = [
  json('/v1/chat/completions', 'talker', { messages: MESSAGES, max_tokens: 700 }),
  json('/v1/messages', 'talker', { messages: MESSAGES, max_tokens: 700 }),
  json('/v1/responses', 'talker', { input: 'Hello!', tools: [{ type: 'web_search' }], max_tool_calls: 3 }),
  json('/v1beta/models/fake/talker:generateContent', 'talker', { contents: [{ parts: [{ text: 'Hello!' }] }] }),
  json('/v1/embeddings', 'embed', { input: 'Hello!' }),
  json('/v1/images/generations', 'painter', { prompt: 'A blue square', n: 2 }),
  json('/v1/images/generations', 'brush', { prompt: 'A blue square', size: '1024x1024', quality: 'low' }),
  form('/v1/images/edits', 'brush', 'image', PICTURE, { prompt: 'A red square' }),
  json('/v1/audio/speech', 'reader', { input: 'Hello there!', voice: 'alloy' }),
  json('/v1/audio/speech', 'actor', { input: 'Hello there!', voice: 'alloy' }),
  form('/v1/audio/transcriptions', 'listener', 'file', SOUND),
  form('/v1/audio/transcriptions', 'scribe', 'file', SOUND),
  json('/v1/rerank', 'searched', { query: 'rain', documents: ['sun', 'rain'] }),
];

function withEndpoints(run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const timeouts = { connect: '2m', first_byte: '150ms', idle: '150ms' };
  return withGateway({ provider: { models: MODELS, timeouts } }, run);
}

describe('a request whose host never responds is charged as held', { concurrency: true }, () => {
  for (const [name, path, body] of ENDPOINTS) {
    test(name, () =>
      withEndpoints(async (gateway) => {
        const key = gateway.key();
        let held = 0n;
        gateway.upstream.follow(() => {
          held = gateway.heldNanos(key);
        });
        const reply = await gateway.request(path, { key, method: 'POST', ...(await body()) });
        assert.equal(reply.status, 502, reply.text);
        const row = await gateway.row(key);
        assert.ok(held > 0n);
        assert.deepEqual(
          [row.source, BigInt(row.cost_nanos), row.failure_reason],
          ['held', held, 'first_byte_timeout'],
        );
      }),
    );
  }
});

test('a fallback that never responds is charged as held for it, and not for the dearer model', async () => {
  const provider = (port: number, name: string, models: object) => ({
    kind: 'openai',
    base_url: `http://127.0.0.1:${port}/${name}/v1`,
    models,
  });
  const providersAt = ({ port }: FakeUpstream) => ({
    first: provider(port, 'first', { dear: { input: 1000, output: 4000, fallback: ['second/cheap'] } }),
    second: provider(port, 'second', { cheap: TOKENS }),
  });
  await withGateway({ providersAt }, async (gateway) => {
    gateway.upstream.follow((call) => {
      if (call.path.startsWith('/second')) call.reset();
      else call.answer(503, { error: {} });
    });
    const key = gateway.key();
    await gateway.complete(key, JSON.stringify({ model: 'first/dear', messages: MESSAGES, max_tokens: 100 }));
    const row = await gateway.row(key);
    assert.deepEqual([row.model, row.source, row.completion_tokens], ['second/cheap', 'held', 100]);
    assert.equal(row.cost_nanos, 1_000 * row.prompt_tokens + 4_000 * row.completion_tokens);
  });
});

test('a stream that is read on after its client has left, and then falls silent, pays for the reasoning that is held', async () => {
  const provider = { models: { talker: TOKENS }, on_disconnect: 'drain', timeouts: { idle: '200ms' } };
  await withGateway({ provider }, async (gateway) => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(
        `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: null }] })}\n\n`,
      );
    });
    const fields = {
      model: 'fake/talker',
      messages: MESSAGES,
      stream: true,
      reasoning_effort: 'high',
      max_tokens: 700,
    };
    const connection = await gateway.asking(key, JSON.stringify(fields));
    await connection.has('Hi');
    connection.leave();
    const row = await gateway.row(key);
    assert.deepEqual([row.outcome, row.source, row.completion_tokens], ['cancelled', 'held', 700]);
  });
});

test('a response that is lost behind its usage is charged as reported', async () => {
  await withEndpoints(async (gateway) => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.head(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
      call.send(JSON.stringify(completion('hi')));
      call.hangUp();
    });
    await gateway.complete(key, JSON.stringify({ model: 'fake/talker', messages: MESSAGES }));
    const row = await gateway.row(key);
    assert.deepEqual([row.source, row.prompt_tokens, row.completion_tokens], ['reported', 10, 5]);
  });
});
