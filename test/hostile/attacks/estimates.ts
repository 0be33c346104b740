/**
 * Attacks on the estimate of the input: text with more tokens than it seems to have, and text where
 * nobody looks.
 */
import { Random } from '../../support/random.ts';
import type { Attack, Family } from '../attack.ts';
import { billedOverBalance, billedOverHeld, billedOverTokenLimit, OVER_HELD, overLimit } from '../measures.ts';
import type { Fields } from '../names.ts';
import { asks, type Request } from '../site.ts';
import { type Alphabet, DENSE, textOf } from '../texts.ts';

const CHARACTERS = 6_000;
const random = new Random(5);
const dense = (alphabet: Alphabet) => textOf(alphabet, CHARACTERS, random);
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
/** One token of output, so that the input is what counts. */
const asking = (fields: Fields): Request => ({
  body: asks('exact', { max_tokens: 1, ...fields }),
  wish: { tokens: 1 },
});

const toolOf = (fields: Fields) => ({ tools: [{ type: 'function', function: { name: 'f', ...fields } }] });
const disguised = `data:;base64,${dense('ideographs')}`;

const PLACES: readonly (readonly [claim: string, tries: string, fields: Fields])[] = [
  ['text that begins like a data URL counts as text', 'content that begins `data:;base64,`', user(disguised)],
  [
    'a data URL in a part of type text counts as text',
    'a content part of type `text` that begins `data:;base64,`',
    user([{ type: 'text', text: disguised }]),
  ],
  [
    'a picture whose data is not base64 counts as text',
    'an `image_url` of ideographs behind `data:image/png;base64,`',
    user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${dense('ideographs')}` } }]),
  ],
  [
    'text beside a picture counts',
    'text in another field of a part of type `image_url`',
    user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, caption: dense('ideographs') }]),
  ],
  [
    'text in a field named data counts',
    'text in a field `data` of a part of an unknown type',
    user([{ type: 'note', data: dense('ideographs') }]),
  ],
  [
    'text in the name of a field counts',
    'text as the name of a field in a message',
    { messages: [{ role: 'user', content: 'Hello', [dense('ideographs')]: 1 }] },
  ],
  ['functions count', 'text in `functions`', { functions: [{ name: 'f', description: dense('prose') }] }],
  [
    'response_format counts',
    'text in the schema of `response_format`',
    {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'f', schema: { type: 'object', description: dense('prose') } },
      },
    },
  ],
  ['fields that the gateway does not know count', 'text in a field of its own', { prompt_suffix: dense('prose') }],
  [
    'names in fields that the gateway does not know count',
    'text as names in a field of its own',
    { template_values: { [dense('ideographs')]: [] } },
  ],
  ['dense text in tools counts in full', 'ideographs in a tool', toolOf({ description: dense('ideographs') })],
  [
    'numbers in the schema of a tool count',
    'numbers of 15 digits in the schema of a tool',
    toolOf({ parameters: { enum: Array.from({ length: 400 }, () => random.between(1e14, 9e14)) } }),
  ],
];

const inPlace: Attack[] = PLACES.map(([claim, tries, fields]) => ({
  claim,
  passes: 'balance',
  tries,
  ...OVER_HELD,
  run: async (workshop) => billedOverHeld(await workshop.site('plain'), asking(fields)),
}));

const inAlphabet: Attack[] = DENSE.map((alphabet) => ({
  claim: `content of ${alphabet} at random is held for in full`,
  passes: 'balance',
  tries: `content of ${alphabet} at random`,
  ...OVER_HELD,
  run: async (workshop) => billedOverHeld(await workshop.site('plain'), asking(user(dense(alphabet)))),
}));

const SMALL_BALANCE_NANOS = 5_000_000;
const SMALL_WINDOW = 2_000;
const twenty = Array.from({ length: 20 }, () => asking(user(disguised)));

const endToEnd: Attack[] = [
  {
    claim: 'a balance is not passed by racing requests of disguised text',
    tries: '20 racing requests that begin `data:;base64,`, with a balance for less than one',
    ...overLimit('balance', SMALL_BALANCE_NANOS),
    run: async (workshop) => billedOverBalance(await workshop.site('plain'), SMALL_BALANCE_NANOS, twenty),
  },
  {
    claim: 'a token limit is not passed by racing requests of disguised text',
    tries: '20 racing requests that begin `data:;base64,`, with a token limit for less than one',
    ...overLimit('token window', SMALL_WINDOW),
    run: async (workshop) => billedOverTokenLimit(await workshop.site('plain'), SMALL_WINDOW, twenty),
  },
];

export const ESTIMATES: Family = {
  title: 'Input that counts for less than it costs',
  about:
    'Before a request goes out, its input is estimated, and that much is held and reserved. A sender who can make the estimate too small can pass every limit.',
  attacks: [...inPlace, ...inAlphabet, ...endToEnd],
};
