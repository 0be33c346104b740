/**
 * The official OpenAI client asks for images, speech, transcripts and judgements: they are held, charged and refused like its
 * chats.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, describe, test } from 'node:test';
import OpenAI, { APIError, BadRequestError, RateLimitError, toFile } from 'openai';
import { FakeUpstream, type UpstreamCall } from '../support/fake-upstream.ts';
import { startTestGateway, type TestKey } from '../support/gateway.ts';
import { REFUSED_KEYS, rejection } from './dialect-hosts.ts';

/** Each unit costs another whole number of millionths. */
const UNITS = { image: 0.000007, character: 0.000005, second: 0.000003, search: 0.000002 };
const scripted = await FakeUpstream.start();
const gateway = await startTestGateway({
  config: {
    providers: {
      mock: { kind: 'mock', models: { units: { per: UNITS }, tokens: { input: 0, output: 1 } } },
      scripted: {
        kind: 'openai',
        base_url: `http://127.0.0.1:${scripted.port}/v1`,
        models: { units: { per: UNITS } },
      },
    },
  },
});
after(() => gateway.stop().finally(() => scripted.close()));
afterEach(() => gateway.assertSettled());

const model = 'mock/units';
const WAV = readFileSync(new URL('../unit/wire/media/fixtures/0.5s.wav', import.meta.url));
const SOUND = readFileSync(new URL('../unit/wire/media/fixtures/1.5s.mp3', import.meta.url));
const PNG = readFileSync(new URL('../unit/wire/media/fixtures/40x30.png', import.meta.url));

function clientOf(key: TestKey): OpenAI {
  return new OpenAI({ baseURL: `http://127.0.0.1:${gateway.port}/v1`, apiKey: key.secret, maxRetries: 0 });
}

/** What the only request of a key was charged, in nanodollars. */
async function charged(key: TestKey): Promise<number> {
  return (await gateway.row(key)).cost_nanos;
}

async function all<Event>(events: AsyncIterable<Event>): Promise<Event[]> {
  const collected: Event[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}

describe('the client', () => {
  test('gets images, and edits them', async () => {
    for (const [images, ask] of [
      [2, (client: OpenAI) => client.images.generate({ model, prompt: 'a square', n: 2 })],
      [1, async (client: OpenAI) => client.images.edit({ model, prompt: 'a hat', image: await toFile(PNG, 'a.png') })],
      [
        1,
        async (client: OpenAI) =>
          client.images.edit({
            model,
            prompt: 'a hat',
            image: [await toFile(PNG, 'a.png'), await toFile(PNG, 'b.png')],
          }),
      ],
    ] as const) {
      const key = gateway.key();
      const { data } = await ask(clientOf(key));
      assert.equal(data?.length, images);
      assert.equal(await charged(key), images * 7_000);
    }
  });

  test('gets images as they come', async () => {
    const key = gateway.key();
    const events = await all(
      await clientOf(key).images.generate({ model, prompt: 'a square', stream: true, partial_images: 1 }),
    );
    assert.deepEqual(
      events.map(({ type }) => type),
      ['image_generation.partial_image', 'image_generation.completed'],
    );
    assert.equal(await charged(key), 7_000);
  });

  test('gets speech', async () => {
    const key = gateway.key();
    const response = await clientOf(key).audio.speech.create({ model, input: 'Hello!', voice: 'alloy' });
    assert.equal(response.headers.get('content-type'), 'audio/wav');
    assert.equal(Buffer.from(await response.arrayBuffer()).toString('latin1', 0, 4), 'RIFF');
    assert.equal(await charged(key), 6 * 5_000);
  });

  test('gets transcripts and translations, whole and as they come', async () => {
    for (const ask of [
      async (client: OpenAI) =>
        (await client.audio.transcriptions.create({ model, file: await toFile(WAV, 'a.wav') })).text,
      async (client: OpenAI) =>
        (await client.audio.translations.create({ model, file: await toFile(WAV, 'a.wav') })).text,
      ...(['text', 'srt', 'vtt'] as const).map((format) => async (client: OpenAI) => {
        const file = await toFile(WAV, 'a.wav');
        return client.audio.transcriptions.create({ model, file, response_format: format });
      }),
      async (client: OpenAI) => {
        const file = await toFile(WAV, 'a.wav');
        const events = await all(await client.audio.transcriptions.create({ model, file, stream: true }));
        return events.map((event) => (event.type === 'transcript.text.delta' ? event.delta : '')).join('');
      },
    ]) {
      const key = gateway.key();
      assert.match(await ask(clientOf(key)), /The mock provider has heard a sound/);
      assert.equal(await charged(key), 3_000);
    }
  });

  test('gets judgements', async () => {
    const { results } = await clientOf(gateway.key()).moderations.create({ model: 'mock/tokens', input: ['a', 'b'] });
    assert.deepEqual(
      results.map(({ flagged }) => flagged),
      [false, false],
    );
  });

  test('learns what has no price', async () => {
    const asked = clientOf(gateway.key()).chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Hi' }],
    });
    await assert.rejects(asked, (error) => error instanceof BadRequestError && /no price for chat/.test(error.message));
  });
});

interface Asked {
  readonly what: string;
  ask(client: OpenAI, model: string): Promise<unknown>;
  /** In nanodollars. */
  readonly held: number;
  readonly charged: number;
  answer(call: UpstreamCall): void;
}

const IMAGE = { data: [{ b64_json: 'AAAA' }] };
const ASKED: readonly Asked[] = [
  {
    what: 'an image',
    ask: (client, model) => client.images.generate({ model, prompt: 'a square', n: 2 }),
    held: 14_000,
    charged: 7_000,
    answer: (call) => call.answer(200, IMAGE),
  },
  {
    what: 'an edit',
    ask: async (client, model) => client.images.edit({ model, prompt: 'a hat', image: await toFile(PNG, 'a.png') }),
    held: 7_000,
    charged: 7_000,
    answer: (call) => call.answer(200, IMAGE),
  },
  {
    what: 'speech',
    ask: (client, model) => client.audio.speech.create({ model, input: 'Hello!', voice: 'alloy' }),
    held: 6 * 5_000,
    charged: 6 * 5_000,
    answer: (call) => call.answer(200, Buffer.alloc(100), { 'content-type': 'audio/mpeg' }),
  },
  {
    what: 'a transcript',
    ask: async (client, model) => client.audio.transcriptions.create({ model, file: await toFile(SOUND, 'a.mp3') }),
    held: 2 * 3_000,
    charged: 3_000,
    answer: (call) => call.answer(200, { text: 'Hi.', usage: { type: 'duration', seconds: 1 } }),
  },
];

for (const { what, ask, held, charged: charge, answer } of ASKED) {
  describe(`${what} for the client`, () => {
    test('is held while its host works, and then charged', async () => {
      const key = gateway.key();
      const release = Promise.withResolvers<void>();
      scripted.follow((call) => release.promise.then(() => answer(call)));
      const asked = ask(clientOf(key), 'scripted/units');
      await scripted.call();
      const heldNanos = Number(gateway.heldNanos(key));
      release.resolve();
      await asked;
      assert.equal(heldNanos, held);
      assert.equal(await charged(key), charge);
    });

    for (const [code, keyFor] of Object.entries(REFUSED_KEYS)) {
      test(`is refused with ${code}`, async () => {
        const error = await rejection(ask(clientOf(keyFor(gateway)), model), APIError);
        assert.equal(error.code, code);
      });
    }

    test('is refused beyond the requests of a minute, with the time to wait', async () => {
      const client = clientOf(gateway.key({ rpm: 1 }));
      await ask(client, model);
      const error = await rejection(ask(client, model), RateLimitError);
      assert.ok(Number(error.headers.get('retry-after')) > 0);
    });
  });
}
