/** Attacks with requests that a fallback serves: its host bills by other terms than those of the model that was asked. */
import type { UpstreamCall } from '../../support/fake-upstream.ts';
import { type EncodedForm, formOf } from '../../support/forms.ts';
import { pngOf, wavOf } from '../../support/media.ts';
import type { Attack, Family } from '../attack.ts';
import {
  billedOverScriptedBalance,
  billedOverScriptedCharge,
  chargedOverScriptedBill,
  type Fields,
  OVER_SCRIPTED_BALANCE,
  OVER_SCRIPTED_CHARGE,
  type ScriptedAttack,
} from '../scripted.ts';
import { COUNT_ERROR } from '../site.ts';

/** A request, the terms of the model that is asked and of its fallback, and the bill of the fallback. */
interface Case {
  readonly tries: string;
  readonly path: string;
  body(model: string): Promise<Partial<EncodedForm>>;
  /** Its hold is larger than that of the fallback. */
  readonly asked: Fields;
  readonly fallback: Fields;
  readonly answer: (call: UpstreamCall) => void;
  /** In nanodollars. */
  readonly bill: number;
}

const json = (fields: Fields) => async (model: string) => ({ body: Buffer.from(JSON.stringify({ model, ...fields })) });
const form =
  (...fields: Parameters<typeof formOf>[0]) =>
  (model: string) =>
    formOf([['model', model], ...fields]);

/** Nanodollars a token, for each USD a million tokens. */
const NANOS_PER_PRICE = 1_000;
const PCM_BYTES_PER_TOKEN = 2_400;
const IMAGES = '/v1/images/generations';
const TRANSCRIPTS = '/v1/audio/transcriptions';
const image = { b64_json: 'AAAA' };
const large = { input: 1, output: 1, image_output: 20, max_output: 6_000 };
const small = { input: 1, output: 1, image_output: 310, max_output: 400 };
const IMAGE_BILL = 6_000 * 20 * NANOS_PER_PRICE;
const heard = { input: 1, output: 2, audio_input: 6, max_output: 500, per: { second: 0.0001 } };
const SOUND = wavOf(8_000, 60);
const HEARD_BILL = 60 * 100_000 + 60 * 32 * 6 * NANOS_PER_PRICE;
const ranked = { input: 1, output: 0, per: { search: 0.002 } };
const DOCUMENTS = 50;
const TOKENS_PER_DOCUMENT = 102;
const documents = Array(DOCUMENTS).fill('one '.repeat(TOKENS_PER_DOCUMENT - 2));
const picture = { type: 'image_url', image_url: { url: `data:image/png;base64,${pngOf(64, 64).toString('base64')}` } };

const CASES: readonly Case[] = [
  {
    tries: 'speech by tokens that nobody reports',
    path: '/v1/audio/speech',
    body: json({ voice: 'a', input: 'one', response_format: 'pcm' }),
    asked: { input: 1, output: 1, audio_output: 125, max_output: 40 },
    fallback: { input: 1, output: 1, audio_output: 12, max_output: 400 },
    answer: (call) => call.answer(200, Buffer.alloc(400 * PCM_BYTES_PER_TOKEN), { 'content-type': 'audio/pcm' }),
    bill: 400 * 12 * NANOS_PER_PRICE,
  },
  {
    tries: 'an image by tokens that nobody reports',
    path: IMAGES,
    body: json({ prompt: 'one' }),
    asked: small,
    fallback: large,
    answer: (call) => call.answer(200, { data: [image] }),
    bill: IMAGE_BILL,
  },
  {
    tries: 'an edit of an image by tokens that nobody reports',
    path: '/v1/images/edits',
    body: form(['prompt', 'one'], ['image', pngOf(64, 64)]),
    asked: { ...small, image_tokens: 10, image_input: 1_000 },
    fallback: { ...large, image_tokens: 5_000, image_input: 2 },
    answer: (call) => call.answer(200, { data: [image] }),
    bill: IMAGE_BILL + 5_000 * 2 * NANOS_PER_PRICE,
  },
  {
    tries: 'a stream of an image by tokens that breaks off',
    path: IMAGES,
    body: json({ prompt: 'one', stream: true }),
    asked: small,
    fallback: large,
    answer: (call) => {
      call.stream();
      call.send('data: {"type":"image_generation.partial_image","b64_json":"AAAA"}\n\n');
      call.reset();
    },
    bill: IMAGE_BILL,
  },
  {
    tries: 'a transcript by seconds and tokens that reports no tokens, after a model that is billed by seconds alone',
    path: TRANSCRIPTS,
    body: form(['file', SOUND]),
    asked: { per: { second: 1 } },
    fallback: heard,
    answer: (call) => call.answer(200, { text: 'Hi.', usage: { type: 'duration', seconds: 60 } }),
    bill: HEARD_BILL,
  },
  {
    tries: 'a ranking by searches and tokens that reports no tokens, after a model that is billed by searches alone',
    path: '/v1/rerank',
    body: json({ query: 'one two', documents }),
    asked: { per: { search: 1 } },
    fallback: ranked,
    answer: (call) => call.answer(200, { results: [], meta: { billed_units: { search_units: 1 } } }),
    bill: 2_000_000 + DOCUMENTS * TOKENS_PER_DOCUMENT * NANOS_PER_PRICE,
  },
  {
    tries: 'an image in a chat of which the fallback makes a hundred times as many tokens, and reports none',
    path: '/v1/chat/completions',
    body: json({ messages: [{ role: 'user', content: [picture] }], max_tokens: 10 }),
    asked: { input: 1_000, output: 2_000, image_tokens: 100 },
    fallback: { input: 1, output: 2, image_tokens: 10_000 },
    answer: (call) => call.answer(200, { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] }),
    bill: 10_000 * NANOS_PER_PRICE,
  },
  {
    tries: 'a search in a chat that costs fifty times as much at the fallback, and is not reported',
    path: '/v1/chat/completions',
    body: json({ messages: [{ role: 'user', content: 'Hi' }], max_tokens: 10, web_search_options: {} }),
    asked: { input: 1_000, output: 2_000, tools: { web_search: 0.001 } },
    fallback: { input: 1, output: 2, tools: { web_search: { call: 0.05, tokens: 0 } } },
    answer: (call) => call.answer(200, { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] }),
    bill: 50_000_000,
  },
];

function scripted({ path, body, asked, fallback, answer, bill }: Case, serving: 'asked' | 'spare'): ScriptedAttack {
  return {
    path,
    send: () => body('asked/model'),
    providers: {
      asked: { models: { model: { ...asked, fallback: ['spare/model'] } } },
      spare: { models: { model: fallback } },
    },
    script: (call) => (call.path.startsWith(`/${serving}/`) ? answer(call) : call.answer(503, {})),
    bill,
  };
}

const ofFallback = CASES.map(
  (each): Attack => ({
    claim: `${each.tries}, is charged by the terms of the fallback that serves it`,
    passes: 'balance',
    tries: each.tries,
    ...OVER_SCRIPTED_CHARGE,
    run: () => billedOverScriptedCharge(scripted(each, 'spare')),
  }),
);

/** The model that is asked serves, and its fallback has the larger hold. */
const ofAsked = CASES.slice(0, 2).map(
  (each): Attack => ({
    claim: `${each.tries}, is charged by the terms of the model that is asked where that serves it`,
    passes: 'balance',
    tries: `${each.tries}, at the model that is asked, whose fallback has the larger hold`,
    ...OVER_SCRIPTED_CHARGE,
    run: () => billedOverScriptedCharge(scripted({ ...each, asked: each.fallback, fallback: each.asked }, 'asked')),
  }),
);

const moderate: Case = {
  tries: 'an image by tokens that nobody reports',
  path: IMAGES,
  body: json({ prompt: 'one' }),
  asked: { ...large, max_output: 400 },
  fallback: large,
  answer: (call) => call.answer(200, { data: [image] }),
  bill: 400 * 20 * NANOS_PER_PRICE,
};

const notOfFallback: Attack = {
  claim: 'an image by tokens is not charged by the terms of a fallback that does not serve it',
  passes: 'balance',
  tries: '(an image that nobody reports, at a model whose fallback makes larger ones)',
  unit: 'times what was billed',
  most: COUNT_ERROR,
  run: () => chargedOverScriptedBill(scripted(moderate, 'asked')),
};

const RACING_IMAGES = 20;
const BALANCE_USD = 0.5;
const [, racing] = CASES as readonly [Case, Case];

const race: Attack = {
  claim: 'racing images that a fallback serves do not pass a balance',
  passes: 'balance',
  tries: `${RACING_IMAGES} racing requests for images that a fallback serves, with a balance for four`,
  ...OVER_SCRIPTED_BALANCE,
  run: () => billedOverScriptedBalance(scripted(racing, 'spare'), BALANCE_USD, RACING_IMAGES),
};

const INPUT_TOKENS = 2_000;
/** The fallback rejects the request. The first host bills its input, and no part of its answer is complete. */
const rejected: ScriptedAttack = {
  path: '/v1/chat/completions',
  send: () => json({ messages: [{ role: 'user', content: 'one '.repeat(INPUT_TOKENS) }] })('asked/model'),
  providers: {
    asked: { models: { model: { input: 10, output: 10, fallback: ['spare/model'] } } },
    spare: { models: { model: { input: 0.01, output: 0.01 } } },
  },
  script: (call) => {
    if (call.path.startsWith('/spare/')) return call.answer(503, {});
    call.head(503, { 'content-length': '1000' });
    call.send('{');
    return call.reset();
  },
  isBilled: ({ path }) => path.startsWith('/asked/'),
  bill: INPUT_TOKENS * 10 * NANOS_PER_PRICE,
};

const ofRejection: Attack = {
  claim: 'a rejection that breaks off is charged at the price of its model, and not of a fallback that rejects, too',
  passes: 'balance',
  tries: 'a request whose rejection breaks off, at a model that costs a thousand times as much as its fallback',
  ...OVER_SCRIPTED_CHARGE,
  run: () => billedOverScriptedCharge(rejected),
};

export const FALLBACKS: Family = {
  title: 'Answers of a fallback',
  about:
    'A fallback writes, counts and bills by terms of its own. In these attacks the model that is asked rejects the request, and has the larger hold.',
  attacks: [...ofFallback, ...ofAsked, notOfFallback, race, ofRejection],
};
