/** Attacks on each unit of price: nobody passes a balance or pays less than the host bills, however they ask, race or leave. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { type EncodedForm, formOf } from '../support/forms.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

const MODELS = {
  image: {
    per: {
      image: {
        price: 0.04,
        variants: [
          { quality: 'low', price: 0.01 },
          { quality: 'high', price: 0.16 },
        ],
      },
    },
  },
  pixel: { input: 5, output: 10, image_input: 8, image_output: 30, max_output: 6_000 },
  character: { per: { character: 0.000015 } },
  voice: { input: 1, output: 2, audio_output: 12, max_output: 4_000 },
  second: { per: { second: 0.0001 } },
  search: { per: { search: 0.002 } },
};

/** A file of a second and a half that says it has no length. */
function liar(): Buffer {
  const bytes = Buffer.from(readFileSync(new URL('../unit/wire/media/fixtures/1.5s.flac', import.meta.url)));
  return bytes.fill(0, 21, 26);
}

interface Attack {
  readonly tries: string;
  readonly path: string;
  send(): Promise<Partial<EncodedForm>>;
  /** In nanodollars. */
  readonly bill: number;
  answer(call: UpstreamCall): void;
}

const json = (fields: object) => async () => ({ body: Buffer.from(JSON.stringify(fields)) });
const IMAGES = '/v1/images/generations';
const image = { b64_json: 'AAAA' };

const ATTACKS: readonly Attack[] = [
  {
    tries: 'images of which the host chooses the dearest, and does not say it',
    path: IMAGES,
    send: json({ model: 'fake/image', prompt: 'a', n: 2, quality: 'auto' }),
    bill: 320_000_000,
    answer: (call) => call.answer(200, { data: [image, image] }),
  },
  {
    tries: 'a stream of images that is left to the host, and breaks off',
    path: IMAGES,
    send: json({ model: 'fake/image', prompt: 'a', stream: true }),
    bill: 160_000_000,
    answer: (call) => {
      call.stream();
      call.send('data: {"type":"image_generation.partial_image","b64_json":"AAAA"}\n\n');
      call.reset();
    },
  },
  {
    tries: 'an image by tokens of which nobody reports any',
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', quality: 'high' }),
    bill: 6_000 * 30_000,
    answer: (call) => call.answer(200, { data: [image] }),
  },
  {
    tries: 'an image by tokens that moves',
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', output_format: 'gif', frame_count: 16 }),
    bill: 16 * 6_000 * 30_000,
    answer: (call) => call.answer(200, { data: [image] }),
  },
  {
    tries: 'speech whose sound breaks off',
    path: '/v1/audio/speech',
    send: json({ model: 'fake/character', voice: 'a', input: '\u{1f600}'.repeat(1_000) }),
    bill: 1_000 * 15_000,
    answer: (call) => {
      call.head(200, { 'content-type': 'audio/pcm', 'transfer-encoding': 'chunked' });
      call.send(Buffer.alloc(10_000));
      call.reset();
    },
  },
  {
    tries: 'speech by tokens that nobody reports',
    path: '/v1/audio/speech',
    send: json({ model: 'fake/voice', voice: 'a', input: 'one '.repeat(100), response_format: 'pcm' }),
    bill: 100 * 1_000 + 600 * 12_000,
    answer: (call) => call.answer(200, Buffer.alloc(30 * 48_000), { 'content-type': 'audio/pcm' }),
  },
  {
    tries: 'a file that lies about its length, as plain text',
    path: '/v1/audio/transcriptions',
    send: () =>
      formOf([
        ['file', liar()],
        ['model', 'fake/second'],
        ['response_format', 'text'],
      ]),
    bill: 200_000,
    answer: (call) => call.answer(200, 'Hi.', { 'content-type': 'text/plain' }),
  },
  {
    tries: 'a ranking of long documents that reports nothing',
    path: '/v1/rerank',
    send: json({ model: 'fake/search', query: 'a', documents: Array(60).fill('one '.repeat(900)) }),
    bill: 2 * 2_000_000,
    answer: (call) => call.answer(200, { results: [] }),
  },
];

async function withCredit(nanos: number, run: (gateway: TestGateway) => Promise<void>): Promise<void> {
  const gateway = await startTestGateway({ provider: { models: MODELS }, credit: (nanos / 1e9).toFixed(9) });
  try {
    await run(gateway);
  } finally {
    await gateway.stop();
  }
}

for (const { tries, path, send, bill, answer } of ATTACKS) {
  describe(tries, () => {
    test('is charged no less than the host bills', () =>
      withCredit(1e12, async (gateway) => {
        const key = gateway.key();
        gateway.upstream.follow(answer);
        await gateway.request(path, { key, method: 'POST', ...(await send()) }).catch(() => undefined);
        const { cost_nanos: charged } = await gateway.row(key);
        assert.ok(charged >= bill, `charged ${charged} of ${bill}`);
      }));

    test('passes no balance in a race of ten', () =>
      withCredit(3.5 * bill, async (gateway) => {
        const key = gateway.key();
        let billed = 0;
        gateway.upstream.follow((call) => {
          billed += bill;
          answer(call);
        });
        const sent = await send();
        const ask = () => gateway.request(path, { key, method: 'POST', ...sent }).catch(() => undefined);
        await Promise.all(Array.from({ length: 10 }, ask));
        await gateway.assertSettled();
        assert.ok(billed <= 3.5 * bill, `billed ${billed} of ${3.5 * bill}`);
        assert.ok(gateway.balanceNanos >= 0n);
      }));
  });
}
