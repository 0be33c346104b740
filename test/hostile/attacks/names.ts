/** Attacks with names that differ by letter case alone, at a host that reads names without case. */
import type { Attack, Family } from '../attack.ts';
import { arrivals, billedOverHeld, OVER_HELD } from '../measures.ts';
import { billsOf } from '../site.ts';

const MESSAGES = '"messages":[{"role":"user","content":"Hello"}]';
const body = (fields: string) => `{"model":"go/cheap",${MESSAGES},"max_tokens":1,${fields}}`;
const LONG_S = '\u017f';
const KELVIN = '\u212a';

const NAMES_OF_MODEL = ['Model', 'MODEL', 'mODEL'];

const forModel: Attack[] = NAMES_OF_MODEL.map((name) => ({
  claim: `a second model named ${name} reaches no host`,
  passes: 'allowlist',
  tries: `\`"model": "go/cheap", "${name}": "vendor-dear"\`, by a key that may call the cheap one alone`,
  unit: 'requests served by the other model',
  most: 0,
  async run(workshop) {
    const site = await workshop.site('plain');
    const key = site.key({ allowlist: ['go/cheap'] });
    const outcome = await site.send(key, { body: body(`"${name}":"vendor-dear"`) });
    await site.settled([key], [outcome]);
    return billsOf([outcome]).filter(({ model }) => model !== 'vendor-cheap').length;
  },
}));

const PAID: readonly (readonly [name: string, value: string])[] = [
  ['Max_Tokens', '5000'],
  ['MAX_COMPLETION_TOKENS', '5000'],
  [`max_token${LONG_S}`, '5000'],
  [`max_to${KELVIN}ens`, '5000'],
  ['N', '64'],
  ['Messages', JSON.stringify([{ role: 'user', content: 'x7 '.repeat(2_000) }])],
  [`me${LONG_S}${LONG_S}ages`, JSON.stringify([{ role: 'user', content: 'x7 '.repeat(2_000) }])],
];

const shown = (name: string) =>
  name.replace(LONG_S, '<U+017F>').replaceAll(LONG_S, '<U+017F>').replace(KELVIN, '<U+212A>');

const forMoney: Attack[] = PAID.map(([name, value]) => ({
  claim: `a second spelling ${shown(name)} costs no more than is held`,
  passes: 'balance',
  tries: `\`${shown(name)}\` beside the name that the gateway reads`,
  ...OVER_HELD,
  run: async (workshop) =>
    billedOverHeld(await workshop.site('plain'), { body: body(`"${name}":${value}`), wish: { tokens: 5_000 } }),
}));

const OTHERS: readonly (readonly [tries: string, fields: string])[] = [
  ['`Stream: true` beside `stream: false`', '"stream":false,"Stream":true'],
  [`\`<U+017F>tream: true\``, `"${LONG_S}tream":true`],
  ['`Include_Usage: false` in `stream_options`', '"stream":true,"stream_options":{"Include_Usage":false}'],
  ['`Stream_Options` beside what the gateway writes', '"stream":true,"Stream_Options":{"include_usage":false}'],
  [
    '`<U+017F>tream_options` beside what the gateway writes',
    `"stream":true,"${LONG_S}tream_options":{"include_usage":false}`,
  ],
];

const forShape: Attack[] = OTHERS.map(([tries, fields]) => ({
  claim: `${tries.replaceAll('`', '')} reaches no host`,
  passes: 'balance',
  tries,
  unit: 'requests that reached the host',
  most: 0,
  run: async (workshop) => arrivals(await workshop.site('plain'), { body: body(fields) }),
}));

export const NAMES: Family = {
  title: 'Names that differ by case',
  about:
    'Hosts written in Go read the names of fields without case, and of two spellings the last one wins. They would serve another request than the one that was checked.',
  attacks: [...forModel, ...forMoney, ...forShape],
};
