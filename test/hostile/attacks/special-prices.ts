/**
 * Attacks with what changes a price, where the config has a price for it: each is charged at its
 * own.
 */
import type { Attack, Family } from '../attack.ts';
import type { Wish } from '../conversation.ts';
import { arrivals, billedOverCharged, billedOverHeld, OVER_CHARGED, OVER_HELD } from '../measures.ts';
import type { Fields } from '../names.ts';
import { LONG_INPUT_TOKENS } from '../pricing.ts';
import { asks } from '../site.ts';

type Row = readonly [claim: string, tries: string, fields: Fields, wish: Partial<Wish>];

const TOKENS = 2_000;
const input = (words: number) => ({ messages: [{ role: 'user', content: 'one '.repeat(words) }] });
const short = input(LONG_INPUT_TOKENS - 200);

const ROWS: readonly Row[] = [
  ['a service tier is charged at its price', '`service_tier: "priority"`', { service_tier: 'priority' }, {}],
  [
    'a service tier is charged at its price in a stream',
    '`service_tier: "priority"` on a stream',
    { service_tier: 'priority', stream: true },
    { piecesAtOnce: 20 },
  ],
  [
    'tokens written to a cache are charged',
    'input that the host writes to its cache',
    short,
    { special: { cacheWrite: 1_500 } },
  ],
  ['audio tokens of input are charged', 'input of audio tokens', short, { special: { audioInput: 1_500 } }],
  [
    'a long input is charged at the price for long inputs',
    'input beyond the length at which the price doubles',
    { model: 'exact/long', ...input(LONG_INPUT_TOKENS + 500) },
    {},
  ],
  ['audio tokens of output are charged', 'output of audio tokens', {}, { special: { audioOutput: 1_500 } }],
];

const charged: Attack[] = ROWS.map(([claim, tries, fields, wish]) => ({
  claim,
  passes: 'balance',
  tries,
  ...OVER_CHARGED,
  run: async (workshop) =>
    billedOverCharged(await workshop.site('priced'), {
      body: asks('exact', fields),
      wish: { tokens: TOKENS, ...wish },
    }),
}));

const held: Attack = {
  claim: 'a service tier is held for at its price',
  passes: 'balance',
  tries: '`service_tier: "priority"` with a maximum',
  ...OVER_HELD,
  run: async (workshop) =>
    billedOverHeld(await workshop.site('priced'), {
      body: asks('exact', { service_tier: 'priority', max_tokens: TOKENS }),
      wish: { tokens: TOKENS },
    }),
};

const refused: Attack[] = ['models', 'route', 'fallbacks'].map((field) => ({
  claim: `the field ${field} reaches no host that reads it`,
  passes: 'allowlist',
  tries: `\`${field}\`, which lets a request choose another model, at a provider with \`refuse_fields\``,
  unit: 'requests that reached the host',
  most: 0,
  run: async (workshop) =>
    arrivals(await workshop.site('priced'), { body: asks('exact', { [field]: ['vendor-dear'] }) }),
}));

export const SPECIAL_PRICES_FAMILY: Family = {
  title: 'What has a price of its own',
  about: 'Service tiers, cache writes and audio have prices of their own in the config, and are charged at them.',
  attacks: [...charged, held, ...refused],
};
