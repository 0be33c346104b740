/** The official OpenAI client asks the mock provider for images, speech, transcripts and judgements, and pays for them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, afterEach, describe, test } from 'node:test';
import OpenAI, { BadRequestError, toFile } from 'openai';
import { startTestGateway, type TestKey } from '../support/gateway.ts';

/** Each unit costs another whole number of millionths. */
const UNITS = { image: 0.000007, character: 0.000005, second: 0.000003, search: 0.000002 };
const gateway = await startTestGateway({
  config: {
    providers: { mock: { kind: 'mock', models: { units: { per: UNITS }, tokens: { input: 0, output: 1 } } } },
  },
});
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

const model = 'mock/units';
const WAV = readFileSync(new URL('../unit/wire/media/fixtures/0.5s.wav', import.meta.url));
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
