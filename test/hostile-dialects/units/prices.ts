/** Attacks on each unit of price: nobody passes a balance or pays less than the host bills, however they ask, race or leave. */
import { readFileSync } from 'node:fs';
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import { wav } from '../../support/sound-files.ts';
import { type Attack, event, form, json, type RefusedAttack } from './attack.ts';

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
  poster: { per: { image: 0.04 } },
  grid: {
    per: {
      image: {
        price: 0.04,
        variants: [
          { count: 4, price: 0.16 },
          { options: 'set', price: 0.05 },
        ],
      },
    },
  },
  pixel: { input: 5, output: 10, image_input: 8, image_output: 30, max_output: 6_000, image_tokens: 2_000 },
  glance: { input: 5, output: 10, image_input: 8, image_output: 1, max_output: 100, image_tokens: 2_000 },
  blind: { input: 5, output: 10, image_output: 30, max_output: 6_000, image_tokens: 2_000 },
  character: { per: { character: 0.000015 } },
  chinese: { per: { character_han_twice: 0.000015 } },
  bytes: { per: { byte: 0.000015 } },
  voice: { input: 1, output: 2, audio_output: 12, max_output: 4_000 },
  second: { per: { second: 0.0001 } },
  short: { per: { second: 0.0001, least_seconds: 10 } },
  search: { per: { search: 0.002 } },
  both: { input: 1, output: 0, per: { search: 0.002 } },
  heard: { input: 1, output: 2, audio_input: 6, max_output: 500, per: { second: 0.0001 } },
  vector: { input: 1, output: 0, image_tokens: 2_000 },
};

/** A file of a second and a half that says it has no length. */
function liar(): Buffer {
  const bytes = Buffer.from(readFileSync(new URL('../../unit/wire/media/fixtures/1.5s.flac', import.meta.url)));
  return bytes.fill(0, 21, 26);
}

const IMAGES = '/v1/images/generations';
const TRANSCRIPTS = '/v1/audio/transcriptions';
const image = { b64_json: 'AAAA' };
const usage = { input_tokens: 10, output_tokens: 100, total_tokens: 110 };
const address = 'https://images.example/large.png';

/** The head of a PNG of 8,192 by 8,192 pixels, which takes few bytes if they are all the same. */
const huge = Buffer.from(
  '89504e470d0a1a0a0000000d49484452000020000000200008020000000000000000000049444154',
  'hex',
).toString('base64');

const ATTACKS: readonly Omit<Attack, 'provider'>[] = [
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
    tries: 'speech of signs that the host counts twice',
    path: '/v1/audio/speech',
    send: json({ model: 'fake/chinese', voice: 'a', input: '\u{4e2d}'.repeat(1_000) }),
    bill: 2_000 * 15_000,
    answer: (call) => call.answer(200, Buffer.alloc(10_000), { 'content-type': 'audio/pcm' }),
  },
  {
    tries: 'speech of signs of four bytes, where the host counts bytes',
    path: '/v1/audio/speech',
    send: json({ model: 'fake/bytes', voice: 'a', input: '\u{1f600}'.repeat(1_000) }),
    bill: 4_000 * 15_000,
    answer: (call) => call.answer(200, Buffer.alloc(10_000), { 'content-type': 'audio/pcm' }),
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
    path: TRANSCRIPTS,
    send: form(['file', liar()], ['model', 'fake/second'], ['response_format', 'text']),
    bill: 200_000,
    answer: (call) => call.answer(200, 'Hi.', { 'content-type': 'text/plain' }),
  },
  {
    tries: 'a short file where ten seconds are the least that its host bills',
    path: TRANSCRIPTS,
    send: form(['file', liar()], ['model', 'fake/short']),
    bill: 10 * 100_000,
    answer: (call) => call.answer(200, { text: 'Hi.', usage: { type: 'duration', seconds: 2 } }),
  },
  {
    tries: 'a file of no length where ten seconds are the least that its host bills',
    path: TRANSCRIPTS,
    send: form(['file', liar()], ['model', 'fake/short']),
    bill: 10 * 100_000,
    answer: (call) => call.answer(200, { text: '', usage: { type: 'duration', seconds: 0 } }),
  },
  {
    tries: 'a ranking of long documents that reports nothing',
    path: '/v1/rerank',
    send: json({ model: 'fake/search', query: 'a', documents: Array(60).fill('one '.repeat(900)) }),
    bill: 2 * 2_000_000,
    answer: (call) => call.answer(200, { results: [] }),
  },
  ...[
    ['an image at an address', { image: address }],
    ['images in a list of another name', { reference_images: [{ image_url: address }] }],
    ['an image as data alone', { image: huge }],
    ['images as data alone in a list', { input_images: [huge] }],
  ].map(([what, fields]) => ({
    tries: `${what} beside a prompt, by tokens`,
    path: IMAGES,
    send: json({ model: 'fake/glance', prompt: 'a', ...(fields as object) }),
    bill: 2_000 * 8_000 + 100 * 1_000,
    answer: (call: UpstreamCall) =>
      call.answer(200, {
        data: [image],
        usage: {
          input_tokens: 2_000,
          input_tokens_details: { image_tokens: 2_000 },
          output_tokens: 100,
          total_tokens: 2_100,
        },
      }),
  })),
  {
    tries: 'a stream with partial images by tokens, of which one reports its usage',
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', n: 2, stream: true, partial_images: 3 }),
    bill: 2 * 6_300 * 30_000,
    answer: (call) => {
      call.stream();
      call.send(event({ type: 'image_generation.completed', ...image, usage }));
      call.send(event({ type: 'image_generation.completed', ...image }));
      call.end();
    },
  },
  {
    tries: 'a moderation of an image whose address stands by itself',
    path: '/v1/moderations',
    send: json({ model: 'fake/vector', input: [{ type: 'image_url', image_url: address }] }),
    bill: 2_000 * 1_000,
    answer: (call) => call.answer(200, { results: [{}], usage: { prompt_tokens: 2_000, total_tokens: 2_000 } }),
  },
  {
    tries: 'embeddings of many texts with nothing in them, which have a beginning and an end',
    path: '/v1/embeddings',
    send: json({ model: 'fake/vector', input: Array(2_000).fill('') }),
    bill: 2 * 2_000 * 1_000,
    answer: (call) => call.answer(200, { data: [{}], usage: { prompt_tokens: 4_000, total_tokens: 4_000 } }),
  },
  {
    tries: "the same in Google's dialect, several at once",
    path: '/v1beta/models/fake/vector:batchEmbedContents',
    send: json({ requests: Array(2_000).fill({ content: { parts: [{ text: '' }] } }) }),
    bill: 2 * 2_000 * 1_000,
    answer: (call) =>
      call.answer(200, {
        data: Array.from({ length: 2_000 }, (_, index) => ({ index, embedding: 'AACAPw==' })),
        usage: { prompt_tokens: 4_000, total_tokens: 4_000 },
      }),
  },
  {
    tries: 'a ranking by searches and tokens that reports no tokens',
    path: '/v1/rerank',
    send: json({ model: 'fake/both', query: 'one two', documents: Array(50).fill('one '.repeat(100)) }),
    bill: 2_000_000 + 50 * 102 * 1_000,
    answer: (call) => call.answer(200, { results: [], meta: { billed_units: { search_units: 1 } } }),
  },
  {
    tries: 'a ranking by searches and tokens that reports no searches',
    path: '/v1/rerank',
    send: json({ model: 'fake/both', query: 'one two', documents: Array(50).fill('one '.repeat(100)) }),
    bill: 2_000_000 + 50 * 102 * 1_000,
    answer: (call) => call.answer(200, { results: [], usage: { total_tokens: 50 * 102 } }),
  },
  {
    tries: 'a transcript by seconds and tokens that reports no tokens',
    path: TRANSCRIPTS,
    send: form(['file', liar()], ['model', 'fake/heard']),
    bill: 2 * 100_000 + 20 * 6_000,
    answer: (call) => call.answer(200, { text: 'Hi.', usage: { type: 'duration', seconds: 2 } }),
  },
  {
    tries: 'a transcript by seconds and tokens that reports no seconds',
    path: TRANSCRIPTS,
    send: form(['file', liar()], ['model', 'fake/heard']),
    bill: 2 * 100_000 + 20 * 6_000 + 3 * 2_000,
    answer: (call) =>
      call.answer(200, {
        text: 'Hi.',
        usage: { type: 'tokens', input_tokens: 20, output_tokens: 3, total_tokens: 23 },
      }),
  },
];

const sound = wav({}, Buffer.alloc(100));
const REFUSED: readonly Omit<RefusedAttack, 'provider'>[] = [
  ...[
    { num_images: 4 },
    { max_images: 15 },
    { batch_size: 4 },
    { num_outputs: 4 },
    { numberOfImages: 4 },
    { sampleCount: 4 },
    { image_count: 4 },
    { num_image: 4 },
    { num_results: 4 },
    { numberResults: 4 },
    { count: 4 },
    { num: 4 },
    { number: 4 },
    { quantity: 4 },
    { imgs: 4 },
    { k: 4 },
    { amount: 255 },
    { sequential_image_generation: 'auto' },
    { sequential_image_generation_options: { max_images: 15 } },
  ].flatMap((fields) => [
    {
      tries: `more images of one price by ${Object.keys(fields)}`,
      path: IMAGES,
      send: json({ model: 'fake/poster', prompt: 'a', ...fields }),
    },
    {
      tries: `more images of one price by ${Object.keys(fields)}, in a form`,
      path: '/v1/images/edits',
      send: form(
        ['image', sound],
        ['model', 'fake/poster'],
        ['prompt', 'a'],
        ...Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)] as const),
      ),
    },
  ]),
  {
    tries: 'more images of one price by a field of an object',
    path: IMAGES,
    send: json({ model: 'fake/poster', prompt: 'a', parameters: { n: 4 } }),
  },
  {
    tries: 'more images of one price by a field of an object in a list',
    path: IMAGES,
    send: json({ model: 'fake/poster', prompt: 'a', tasks: [{ num_images: 4 }] }),
  },
  ...[
    { count: 4 },
    { count: '4' },
    { count: ' 4.0' },
    { options: { count: 4 } },
    { options: [{ k: 4 }] },
    { counts: [4] },
  ].map((fields) => ({
    tries: `more images by tokens, by ${JSON.stringify(fields)}`,
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', ...fields }),
  })),
  {
    tries: 'more images than the variant of a price has',
    path: IMAGES,
    send: json({ model: 'fake/grid', prompt: 'a', count: 9 }),
  },
  {
    tries: 'more images in an object that a variant of a price allows',
    path: IMAGES,
    send: json({ model: 'fake/grid', prompt: 'a', options: { count: 9 } }),
  },
  {
    tries: 'an edit by tokens of a model that has no price for images that it reads',
    path: '/v1/images/edits',
    send: form(['image', sound], ['model', 'fake/blind'], ['prompt', 'a']),
  },
  {
    tries: 'an image beside a prompt at such a model',
    path: IMAGES,
    send: json({ model: 'fake/blind', prompt: 'a', image: address }),
  },
  {
    tries: 'an image that the host keeps beside a prompt',
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', images: [{ file_id: 'file-1' }] }),
  },
  {
    tries: 'an image beside a prompt that the host finds in a store',
    path: IMAGES,
    send: json({ model: 'fake/pixel', prompt: 'a', image: 'gs://bucket/large.png' }),
  },
  {
    tries: 'two numbers of images in one form',
    path: '/v1/images/edits',
    send: form(['image', sound], ['model', 'fake/poster'], ['prompt', 'a'], ['n', '1'], ['n', '9']),
  },
  {
    tries: 'a number of images in a list',
    path: '/v1/images/edits',
    send: form(['image', sound], ['model', 'fake/poster'], ['prompt', 'a'], ['n[]', '9']),
  },
  {
    tries: 'a file beside another one',
    path: TRANSCRIPTS,
    send: form(['file', sound], ['model', 'fake/second'], ['file', sound]),
  },
  {
    tries: 'a file under another name',
    path: TRANSCRIPTS,
    send: form(['file', sound], ['model', 'fake/second'], ['audio', sound]),
  },
  ...['url', 'audio_url', 'file_url', 'file_id', 'audio'].map((name) => ({
    tries: `sound elsewhere, by ${name}`,
    path: TRANSCRIPTS,
    send: form(['file', sound], ['model', 'fake/second'], [name, 'https://sound.example/hour.mp3']),
  })),
  {
    tries: 'a document that is an image',
    path: '/v1/rerank',
    send: json({ model: 'fake/search', query: 'a', documents: [{ image: address }] }),
  },
];

const provider = { models: MODELS };

export const PRICE_ATTACKS: readonly Attack[] = ATTACKS.map((attack) => ({ ...attack, provider }));
export const REFUSED_PRICES: readonly RefusedAttack[] = REFUSED.map((attack) => ({ ...attack, provider }));
