/** Google's dialect at hosts of others, and theirs at its hosts: what clients get, what is charged, and how streams end. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';

const MODEL = { input: 1, output: 2, max_output: 1_000, default_output: 100 };
const chat = await startTestGateway({ provider: { dialects: ['chat'], models: { echo: MODEL } } });
const google = await startTestGateway({
  provider: { kind: 'gemini', models: { echo: { ...MODEL, cached_input: 0.5, upstream: 'gemini-x' } } },
});
const BOTH = [chat, google];
after(() => Promise.all(BOTH.map((gateway) => gateway.stop())));
afterEach(() => Promise.all(BOTH.map((gateway) => gateway.assertSettled())));

const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Hello!' }] }] };
const MESSAGES = { model: 'fake/echo', messages: [{ role: 'user', content: 'Hello!' }] };
const GENERATE = '/v1beta/models/fake/echo:generateContent';
const STREAM = '/v1beta/models/fake/echo:streamGenerateContent';

const chunk = (fields: object) =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', model: 'm', ...fields })}\n\n`;
const CHUNKS = [
  chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hel' } }] }),
  chunk({ choices: [{ index: 0, delta: { content: 'lo.' } }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } }),
  'data: [DONE]\n\n',
];
const piece = (text: string, finishReason?: string) =>
  `data: ${JSON.stringify({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason, index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 14 },
    responseId: 'r1',
  })}\r\n\r\n`;

function post(gateway: typeof chat, path: string, body: object, key = gateway.key()) {
  return gateway.post(path, key, body);
}

function stream(gateway: typeof chat, pieces: readonly string[]): void {
  gateway.upstream.follow((call) => {
    call.stream();
    for (const each of pieces) call.send(each);
    call.end();
  });
}

describe("a request of Google's dialect at a host of chat completions", () => {
  test('is answered and charged, and says what was left out', async () => {
    const completion = {
      id: 'c1',
      choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 9, completion_tokens: 3 },
    };
    chat.upstream.follow((call) => call.answer(200, completion));
    const key = chat.key();
    const reply = await post(chat, GENERATE, { ...CONTENTS, generationConfig: { topK: 64 } }, key);
    assert.equal(reply.headers.get('x-inf-gw-ignored'), 'generationConfig.topK');
    assert.deepEqual(JSON.parse(reply.text), {
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hi.' }] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
      modelVersion: 'fake/echo',
      responseId: 'c1',
    });
    const [row] = chat.rows(key);
    assert.deepEqual([row?.prompt_tokens, row?.completion_tokens, row?.cost_nanos], [9, 3, 15_000]);
    assert.equal((await chat.upstream.call()).path, '/base/v1/chat/completions');
  });

  test('is streamed as events, or as an array', async () => {
    const texts = (pieces: readonly { candidates: { content: { parts: { text: string }[] } }[] }[]) =>
      pieces.flatMap(({ candidates }) => candidates.flatMap(({ content }) => content.parts.map(({ text }) => text)));
    stream(chat, CHUNKS);
    const array = JSON.parse((await post(chat, STREAM, CONTENTS)).text);
    assert.deepEqual(texts(array), ['Hel', 'lo.', '']);
    assert.deepEqual(array.at(-1).usageMetadata, { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 });
    const events = (await post(chat, `${STREAM}?alt=sse`, CONTENTS)).text.split('\n\n').slice(0, -1);
    assert.deepEqual(
      events.map((event) => JSON.parse(event.slice('data: '.length))),
      array,
    );
    assert.equal(JSON.parse((await chat.upstream.call()).body).stream, true);
  });

  test('fails as an array, if its host breaks off', async () => {
    stream(chat, CHUNKS.slice(0, 1));
    const reply = await post(chat, STREAM, CONTENTS);
    assert.equal(JSON.parse(reply.text).at(-1).error.status, 'UNAVAILABLE');
  });

  test('has its tokens counted by the gateway', async () => {
    const reply = await post(chat, '/v1beta/models/fake/echo:countTokens', CONTENTS);
    assert.ok(JSON.parse(reply.text).totalTokens > 2, reply.text);
  });
});

describe("a request at a host of Google's", () => {
  test('is streamed to a client of chat completions, and charged with its thoughts', async () => {
    stream(google, [piece('Hel'), piece('lo.', 'STOP')]);
    const key = google.key();
    const body = { ...MESSAGES, stream: true, stream_options: { include_usage: true } };
    const { text } = await post(google, '/v1/chat/completions', body, key);
    assert.ok(text.endsWith('data: [DONE]\n\n'));
    const chunks = text
      .split('\n\n')
      .slice(0, -2)
      .map((event) => JSON.parse(event.slice('data: '.length)));
    assert.equal(
      chunks
        .flatMap(({ choices }) => choices)
        .map(({ delta }) => delta.content ?? '')
        .join(''),
      'Hello.',
    );
    assert.deepEqual(
      [chunks.at(-1).usage.completion_tokens, chunks.at(-1).usage.completion_tokens_details.reasoning_tokens],
      [5, 2],
    );
    const [row] = google.rows(key);
    assert.deepEqual([row?.source, row?.outcome, row?.cost_nanos], ['reported', 'ok', 19_000]);
    assert.equal((await google.upstream.call()).path, '/base/v1/models/gemini-x:streamGenerateContent?alt=sse');
  });

  for (const [dialect, path, body] of [
    ['messages', '/v1/messages', { ...MESSAGES, max_tokens: 50 }],
    ['responses', '/v1/responses', { model: 'fake/echo', input: 'Hello!' }],
  ] as const) {
    test(`is answered to a client of ${dialect}`, async () => {
      google.upstream.follow((call) => call.answer(200, JSON.parse(piece('Hello.', 'STOP').slice('data: '.length))));
      const key = google.key();
      const reply = await post(google, path, body, key);
      assert.deepEqual([reply.status, reply.text.includes('Hello.')], [200, true], reply.text);
      assert.equal(google.rows(key)[0]?.cost_nanos, 19_000);
    });
  }

  test('has a prompt that was blocked charged and told', async () => {
    const blocked = {
      promptFeedback: { blockReason: 'SAFETY' },
      usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 },
    };
    google.upstream.follow((call) => call.answer(200, blocked));
    const key = google.key();
    const { choices } = JSON.parse((await post(google, '/v1/chat/completions', MESSAGES, key)).text);
    assert.equal(choices[0].finish_reason, 'content_filter');
    assert.equal(google.rows(key)[0]?.cost_nanos, 9_000);
  });

  test('is refused without a price for its answer, in the words of its client', async () => {
    for (const [path, body] of [
      ['/v1/chat/completions', MESSAGES],
      ['/v1/responses', { model: 'fake/echo', input: 'Draw.' }],
    ] as const) {
      const reply = await post(google, path, { ...body, modalities: ['text', 'image'] });
      assert.equal(reply.status, 400, reply.text);
      assert.match(reply.error.message, /^modalities: this model has no price for image answers; leave image out/);
    }
  });

  test('is capped where the config says so', async () => {
    const capped = await startTestGateway({
      config: { cap_output: true },
      provider: { kind: 'gemini', models: { echo: MODEL } },
    });
    capped.upstream.follow((call) => call.answer(200, JSON.parse(piece('Hi', 'STOP').slice('data: '.length))));
    for (const [fields, maximum] of [
      [{}, 100],
      [{ generationConfig: { topP: 1 } }, 100],
      [{ generationConfig: { maxOutputTokens: 7 } }, 7],
    ] as const) {
      await post(capped, GENERATE, { ...CONTENTS, ...fields });
      assert.equal(JSON.parse(capped.upstream.calls.at(-1)?.body ?? '').generationConfig.maxOutputTokens, maximum);
    }
    await post(capped, '/v1/chat/completions', MESSAGES);
    assert.equal(JSON.parse(capped.upstream.calls.at(-1)?.body ?? '').generationConfig.maxOutputTokens, 100);
    await capped.stop();
  });
});
