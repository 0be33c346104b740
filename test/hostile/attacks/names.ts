/** Attacks with names that the gateway and a host may read differently: by case, and with escapes. */
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

const ESCAPED: readonly (readonly [name: string, earlier: string, value: string])[] = [
  [String.raw`\u006e`, String.raw`\\`, '64,"max_tokens":100'],
  [String.raw`max_token\u0073`, String.raw`max_token\\`, '5000'],
];
/** V8 misreads only some names, depending on where the earlier one lies in memory. */
const ESCAPED_TRIES = 20;

const forEscapes: Attack[] = ESCAPED.map(([name, earlier, value]) => ({
  claim: `${name} costs no more than is held, after ${earlier}`,
  passes: 'balance',
  tries: `\`"${name}"\`, after a request with \`"${earlier}"\` in its place (nodejs/node#63785)`,
  ...OVER_HELD,
  async run(workshop) {
    const site = await workshop.site('plain');
    const key = site.key();
    let worst = 0;
    for (let index = 0; index < ESCAPED_TRIES; index++) {
      const asking = (field: string) => `{"try${index}":1,"${field}":${value},"model":"old/cheap",${MESSAGES}}`;
      await site.send(key, { body: asking(earlier) });
      worst = Math.max(worst, await billedOverHeld(site, { body: asking(name), wish: { tokens: 5_000 } }));
    }
    return worst;
  },
}));

export const NAMES: Family = {
  title: 'Names that are read in two ways',
  about:
    'Hosts written in Go read the names of fields without case, and of two spellings the last one wins. A name may be written with escapes. They would serve another request than the one that was checked.',
  attacks: [...forModel, ...forMoney, ...forShape, ...forEscapes],
};
