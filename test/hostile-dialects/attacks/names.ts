/** Attacks with names that differ by letter case alone, at hosts that read names without case. */
import type { Fields } from '../../hostile/names.ts';
import type { DialectName } from '../dialogue.ts';
import { type DialectAttack, holds, isRefused } from '../measures.ts';
import { type Direction, MAXIMA, NATIVE, TRANSLATED, user } from '../requests.ts';

const LONG_S = '\u017f';
const KELVIN = '\u212a';
const BIG = 5_000;
const LONG_TEXT = 'x7 '.repeat(1_000);

const plain = (name: string) => name.replaceAll(LONG_S, '<U+017F>').replaceAll(KELVIN, '<U+212A>');
const atGo = (direction: Direction): Direction => ({ ...direction, reading: 'go' });

/** Another spelling, and a value that pays off at a host that reads it. */
type Spelling = readonly [name: string, value: unknown];

const MAXIMUM_NAMES = [
  ...['Max_Tokens', 'MAX_TOKENS', `max_token${LONG_S}`, `max_to${KELVIN}ens`, 'Max_Completion_Tokens'],
  ...['Max_Output_Tokens', `max_output_token${LONG_S}`, 'Max_Tokens_To_Sample'],
];
export const SPELLINGS: readonly Spelling[] = [
  ...MAXIMUM_NAMES.map((name) => [name, BIG] as const),
  ['Service_Tier', 'priority'],
  [`${LONG_S}ervice_tier`, 'priority'],
];

/** Names that a dialect has beside those. */
export const OWN_SPELLINGS: Readonly<Record<DialectName, readonly Spelling[]>> = {
  chat: [
    ['Messages', [{ role: 'user', content: LONG_TEXT }]],
    ['N', 64],
    ['Functions', [{ name: 'f', description: LONG_TEXT }]],
  ],
  messages: [
    ['Messages', [{ role: 'user', content: LONG_TEXT }]],
    [`me${LONG_S}${LONG_S}ages`, [{ role: 'user', content: LONG_TEXT }]],
    ['System', LONG_TEXT],
    ['Tools', [{ name: 'f', description: LONG_TEXT, input_schema: { type: 'object' } }]],
    ['Cache_Control', { type: 'ephemeral', ttl: '1h' }],
  ],
  responses: [
    ['Input', LONG_TEXT],
    ['Instructions', LONG_TEXT],
    ['Tools', [{ type: 'function', name: 'f', description: LONG_TEXT }]],
  ],
};

const spelledBy = (direction: Direction, spellings: readonly Spelling[]): readonly DialectAttack[] =>
  spellings.map(([name, value]) =>
    holds({
      direction: atGo(direction),
      what: `${plain(name)} costs no more than is held`,
      fields: { [MAXIMA[direction.client]]: 1, [name]: value },
      conduct: { tokens: BIG },
    }),
  );

const spelled = [
  ...NATIVE.flatMap((direction) => spelledBy(direction, [...SPELLINGS, ...OWN_SPELLINGS[direction.client]])),
  ...TRANSLATED.flatMap((direction) =>
    spelledBy(direction, [...SPELLINGS.slice(0, 1), ['Max_Output_Tokens', BIG], ...OWN_SPELLINGS[direction.client]]),
  ),
];

const SHAPES: readonly Spelling[] = [
  ['Model', 'vendor-dear'],
  ['Stream', true],
  [`${LONG_S}tream`, true],
];

const shaped = [...NATIVE, ...TRANSLATED].flatMap((direction) =>
  SHAPES.map(([name, value]) =>
    isRefused({ direction: atGo(direction), what: `${plain(name)} reaches no host`, fields: { [name]: value } }),
  ),
);

/** Whatever is cached is written at ten or twenty times the price of input. */
const CONTROLS: readonly Fields[] = [
  { Cache_Control: { type: 'ephemeral' } },
  { CACHE_CONTROL: { type: 'ephemeral', ttl: '1h' } },
  { cache_control: { type: 'ephemeral', TTL: '1h' } },
  { Cache_control: { Type: 'ephemeral', Ttl: '1h' } },
  { cache_control: { type: 'ephemeral', ttl: '5m', TTL: '1h' } },
];

const cached = CONTROLS.map((control) =>
  holds({
    direction: { client: 'messages', host: 'messages', reading: 'go' },
    what: `${JSON.stringify(control)} is held at the price of its lifetime`,
    fields: { max_tokens: 1, ...user('messages', [{ type: 'text', text: LONG_TEXT, ...control }]) },
  }),
);

export const NAMES = {
  title: 'Names that differ by case, in other dialects',
  attacks: [...spelled, ...shaped, ...cached],
};
