/** Hosts of Azure: requests reach them as the official client for Azure would send them, and their refusals reach clients. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import OpenAI, { AzureOpenAI, toFile } from 'openai';
import { answering, completion } from '../support/answers.ts';
import type { Script } from '../support/fake-upstream.ts';
import { chat, sharedGateway, startTestGateway, type TestGateway, UPSTREAM_KEY } from '../support/gateway.ts';
import { pngOf, wavOf } from '../support/media.ts';

const VERSION = '2024-10-21';
const MODELS = {
  gpt: { upstream: 'my-gpt', input: 1, output: 2 },
  vectors: { upstream: 'my-vectors', input: 1, output: 0 },
  painter: { upstream: 'my-painter', per: { image: 0.04 } },
  voice: { upstream: 'my-voice', per: { character: 0.000015 } },
  ears: { upstream: 'my-ears', per: { second: 0.0001 } },
};
const provider = { kind: 'azure', models: MODELS };
const dated = await startTestGateway({ provider, basePath: `/openai/deployments/{model}?api-version=${VERSION}` });
const current = await startTestGateway({ provider, basePath: '/openai/v1' });
after(() => Promise.all([dated.stop(), current.stop()]));
afterEach(() => Promise.all([dated.assertSettled(), current.assertSettled()]));

const MESSAGES = [{ role: 'user' as const, content: 'Hi.' }];
const INPUT_USAGE = { prompt_tokens: 1, total_tokens: 1 };
const PNG = await toFile(pngOf(16, 16), 'a.png', { type: 'image/png' });
const WAV = await toFile(wavOf(8_000, 1), 'a.wav', { type: 'audio/wav' });
const PICTURE = answering({ created: 1, data: [{ b64_json: 'AA==' }] });
const SOUND = answering('sound', 200, { 'content-type': 'audio/mpeg' });
const HEARD = answering({ text: 'Hi.', usage: { type: 'duration', seconds: 1 } });

/** What both the official client and one of the gateway send. */
type Asking = (client: OpenAI, model: string) => Promise<unknown>;
type Row = readonly [what: string, model: keyof typeof MODELS, asking: Asking, script: Script];

const ASKINGS: readonly Row[] = [
  [
    'chat',
    'gpt',
    (at, model) => at.chat.completions.create({ model, messages: MESSAGES }),
    answering(completion('Hi.')),
  ],
  [
    'embeddings',
    'vectors',
    (at, model) => at.embeddings.create({ model, input: 'Hi.', encoding_format: 'float' }),
    answering({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1] }], usage: INPUT_USAGE }),
  ],
  ['images', 'painter', (at, model) => at.images.generate({ model, prompt: 'A cat.' }), PICTURE],
  ['edited images', 'painter', (at, model) => at.images.edit({ model, prompt: 'A cat.', image: PNG }), PICTURE],
  ['speech', 'voice', (at, model) => at.audio.speech.create({ model, input: 'Hi.', voice: 'alloy' }), SOUND],
  ['transcriptions', 'ears', (at, model) => at.audio.transcriptions.create({ model, file: WAV }), HEARD],
  ['translations', 'ears', (at, model) => at.audio.translations.create({ model, file: WAV }), HEARD],
];
const RESPONSE = answering({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [],
  usage: { input_tokens: 1, output_tokens: 0 },
});

function clientOf(gateway: TestGateway): OpenAI {
  const baseURL = `http://127.0.0.1:${gateway.port}/v1`;
  return new OpenAI({ baseURL, apiKey: gateway.key().secret, maxRetries: 0 });
}

/** How the host of a gateway was asked last. */
async function lastCall({ upstream }: TestGateway) {
  const call = await upstream.call();
  const model = /"model":"([^"]*)"|name="model"\s+([^\r\n]*)/.exec(call.body);
  return {
    line: `${call.method} ${call.path}`,
    keys: [call.header('api-key'), call.header('authorization')],
    model: model?.[1] ?? model?.[2],
  };
}

describe("a host of dated versions is asked as by Azure's client, for", () => {
  for (const [what, name, asking, script] of ASKINGS) {
    test(what, async () => {
      const endpoint = `http://127.0.0.1:${dated.upstream.port}`;
      const direct = new AzureOpenAI({ endpoint, apiKey: UPSTREAM_KEY, apiVersion: VERSION, maxRetries: 0 });
      dated.upstream.follow(script);
      await asking(direct, MODELS[name].upstream);
      const expected = await lastCall(dated);
      dated.upstream.follow(script);
      await asking(clientOf(dated), `fake/${name}`);
      assert.deepEqual(await lastCall(dated), expected);
      assert.deepEqual(expected.keys, [UPSTREAM_KEY, undefined]);
    });
  }

  test('responses, which it has not there, by way of chat', async () => {
    dated.upstream.follow(answering(completion('Hi.')));
    const response = await clientOf(dated).responses.create({ model: 'fake/gpt', input: 'Hi.' });
    assert.equal(response.output_text, 'Hi.');
    assert.equal(
      (await lastCall(dated)).line,
      `POST /openai/deployments/my-gpt/chat/completions?api-version=${VERSION}`,
    );
  });
});

describe('a host without versions is asked below one path with the key of Azure, for', () => {
  for (const [what, name, asking, script] of [
    ...ASKINGS,
    ['responses', 'gpt', (at, model) => at.responses.create({ model, input: 'Hi.' }), RESPONSE],
  ] satisfies Row[]) {
    test(what, async () => {
      const baseURL = `http://127.0.0.1:${current.upstream.port}/openai/v1`;
      const direct = new OpenAI({ baseURL, apiKey: UPSTREAM_KEY, maxRetries: 0 });
      current.upstream.follow(script);
      await asking(direct, MODELS[name].upstream);
      const expected = await lastCall(current);
      current.upstream.follow(script);
      await asking(clientOf(current), `fake/${name}`);
      assert.deepEqual(await lastCall(current), { ...expected, keys: [UPSTREAM_KEY, undefined] });
    });
  }
});

describe('of what Azure refuses', () => {
  const message = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.";
  const content_filter_result = { jailbreak: { filtered: true, detected: true } };
  const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result };
  const error = { message, type: null, param: 'prompt', code: 'content_filter', status: 400, innererror };

  test('a filtered prompt is told in its words, asked for once, and charged for its input', async () => {
    const key = current.key();
    current.upstream.follow(answering({ error }, 400));
    const { status, text } = await current.complete(key, chat({ model: 'fake/gpt' }));
    assert.deepEqual([status, JSON.parse(text)], [400, { error: { code: 'invalid_request', message } }]);
    const { source, completion_tokens, cost_nanos, failure_message } = await current.row(key);
    assert.deepEqual([current.upstream.calls.length, source, completion_tokens], [1, 'counted', 0]);
    assert.deepEqual([cost_nanos > 0, failure_message], [true, 'upstream 400 (content_filter)']);
  });

  test('a filtered prompt of a client of messages is an error in its own dialect, with those words', async () => {
    const key = current.key();
    current.upstream.follow(answering({ error }, 400));
    const { status, text } = await current.post('/v1/messages', key, {
      model: 'fake/gpt',
      max_tokens: 9,
      messages: MESSAGES,
    });
    const told = JSON.parse(text) as { type: string; error: { type: string; message: string } };
    assert.deepEqual([status, told.type, told.error.type], [400, 'error', 'invalid_request_error']);
    assert.match(told.error.message, /content management policy/);
    assert.ok((await current.row(key)).cost_nanos > 0);
  });

  test('what comes too fast is told with its wait, the finer one first, and costs nothing', async () => {
    for (const [headers, wait] of [
      [{ 'retry-after': '30' }, '30'],
      [{ 'retry-after': '30', 'retry-after-ms': '31500' }, '32'],
    ] as const) {
      const key = current.key();
      current.upstream.follow(answering({ error: { code: '429', message: 'Rate limit is exceeded.' } }, 429, headers));
      const answer = await current.complete(key, chat({ model: 'fake/gpt' }));
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [502, wait]);
      assert.equal((await current.row(key)).cost_nanos, 0);
    }
  });
});

const gateway = await sharedGateway({
  basePath: '/openai/deployments/{model}?api-version=2024-10-21',
  provider: {
    auth: 'api-key',
    models: {
      one: { upstream: 'my-gpt', input: 1, output: 2 },
      two: { upstream: 'the other/gpt', input: 1, output: 2 },
    },
  },
});

test('each model is asked at its own path', async () => {
  gateway.upstream.follow(answering(completion('hi')));
  const key = gateway.key();
  for (const [model, deployment] of [
    ['fake/one', 'my-gpt'],
    ['fake/two', 'the%20other%2Fgpt'],
  ] as const) {
    const { status } = await gateway.complete(key, chat({ model }));
    const call = gateway.upstream.calls.at(-1);
    assert.equal(status, 200);
    assert.equal(call?.path, `/openai/deployments/${deployment}/chat/completions?api-version=2024-10-21`);
    assert.deepEqual([call.header('api-key'), call.header('authorization')], [UPSTREAM_KEY, undefined]);
  }
});
