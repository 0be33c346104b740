/** Attacks with the prompt cache: what is written to it costs ten or twenty times as much as other input. */
import type { Fields } from '../../hostile/names.ts';
import { LONG_INPUT_TOKENS } from '../../hostile/pricing.ts';
import { charges, type DialectAttack, holds, type Row } from '../measures.ts';
import { ALL, type Direction, user } from '../requests.ts';

const LONG_TEXT = 'one '.repeat(500);
const messages: Direction = { client: 'messages', host: 'messages' };
const MESSAGES_HOSTS: readonly Direction[] = [messages, { client: 'chat', host: 'messages' }];
const long = { type: 'text', text: LONG_TEXT };
const say = (...content: readonly unknown[]) => user('messages', content);

export const CONTROLS: readonly Fields[] = [
  { type: 'ephemeral' },
  { type: 'ephemeral', ttl: '5m' },
  { type: 'ephemeral', ttl: '1h' },
  { type: 'ephemeral', ttl: null },
  { type: 'ephemeral', ttl: '2h' },
  { ttl: '1h' },
];

/** Where a message can say what is to be cached, and where only an odd host would look. */
type MarkedPlace = readonly [where: string, fields: (mark: Fields) => Fields];

const tool = { name: 'f', description: LONG_TEXT, input_schema: { type: 'object' } };
const result = { type: 'tool_result', tool_use_id: 't', content: LONG_TEXT };
const document = (source: Fields) => say({ type: 'document', source });
const textSource = { type: 'text', media_type: 'text/plain', data: LONG_TEXT };

export const CACHE_PLACES: readonly MarkedPlace[] = [
  ['a block', (mark) => say({ ...long, ...mark })],
  ['one of two blocks', (mark) => say({ ...long, ...mark }, { ...long, cache_control: { type: 'ephemeral' } })],
  ['the system prompt', (mark) => ({ system: [{ ...long, ...mark }] })],
  ['a tool', (mark) => ({ tools: [{ ...tool, ...mark }] })],
  ['the result of a tool', (mark) => say({ ...result, ...mark })],
  ['a block of a result', (mark) => say({ ...result, content: [{ ...long, ...mark }] })],
  ['a block of a document', (mark) => document({ type: 'content', content: [{ ...long, ...mark }] })],
  ['the source of a document', (mark) => document({ ...textSource, ...mark })],
  ['a message', (mark) => ({ messages: [{ role: 'user', content: LONG_TEXT, ...mark }] })],
  ['the request', (mark) => ({ ...user('messages', LONG_TEXT), ...mark })],
  ['thinking', (mark) => ({ ...user('messages', LONG_TEXT), thinking: { type: 'disabled', ...mark } })],
  ['an unknown field', (mark) => ({ ...user('messages', LONG_TEXT), hints: [[mark]] })],
];

/** In all but the first place, a lifetime of each price. */
const marked: readonly DialectAttack[] = CACHE_PLACES.flatMap(([where, fields], index) =>
  (index === 0 ? CONTROLS : [CONTROLS[0], CONTROLS[2]]).map((control) =>
    holds({
      direction: messages,
      what: `${JSON.stringify(control)} at ${where} is held at the price of its lifetime`,
      fields: { max_tokens: 1, ...fields({ cache_control: control }) },
    }),
  ),
);

const inChat = CONTROLS.map((control) =>
  holds({
    direction: { client: 'chat', host: 'messages' },
    what: `${JSON.stringify(control)} at a part is held at the price of its lifetime`,
    fields: { max_tokens: 1, ...user('chat', [{ ...long, cache_control: control }]) },
  }),
);

const inResponses = ALL.filter(({ client }) => client === 'responses').flatMap((direction) => [
  holds({
    direction,
    what: 'a prompt_cache_key is held at the price of a cache',
    fields: { max_output_tokens: 1, input: LONG_TEXT, prompt_cache_key: 'a' },
    model: 'caching',
  }),
  holds({
    direction,
    what: 'a prompt_cache_breakpoint is held at the price of a cache',
    fields: {
      max_output_tokens: 1,
      ...user('responses', [{ type: 'input_text', text: LONG_TEXT, prompt_cache_breakpoint: { mode: 'explicit' } }]),
    },
    model: 'caching',
  }),
]);

const MANY = 'one '.repeat(LONG_INPUT_TOKENS + 500);
const longInputs = CONTROLS.slice(0, 3).map((control) =>
  holds({
    direction: messages,
    what: `${JSON.stringify(control)} at a long input is held at the price of both`,
    fields: { max_tokens: 1, ...say({ type: 'text', text: MANY, cache_control: control }) },
    model: 'long',
  }),
);

const streamed = ['5m', '1h'].map((ttl) =>
  holds({
    direction: messages,
    what: `what a stream caches for ${ttl} is held and charged`,
    fields: { stream: true, max_tokens: 50, ...say({ ...long, cache_control: { type: 'ephemeral', ttl } }) },
    conduct: { tokens: 50 },
  }),
);

/** Ways in which nothing is reported of what is cached. */
const UNREPORTED: readonly (readonly [how: string, fields: Fields, row: Pick<Row, 'conduct' | 'leaves'>])[] = [
  ['of a stream that is left on its arrival', { stream: true }, { leaves: 'arrival' }],
  ['of a stream that reports nothing', { stream: true }, { conduct: { report: 'never' } }],
  ['of an answer that reports nothing', {}, { conduct: { report: 'never' } }],
  ['of an answer with impossible figures', {}, { conduct: { report: { impossible: -1 } } }],
];

const unreported = MESSAGES_HOSTS.flatMap((direction) =>
  ['5m', '1h'].flatMap((ttl) =>
    UNREPORTED.map(([how, fields, row]) =>
      charges({
        direction,
        what: `what is cached for ${ttl} ${how} is paid for`,
        fields: {
          max_tokens: 50,
          ...fields,
          ...user(direction.client, [{ ...long, cache_control: { type: 'ephemeral', ttl } }]),
        },
        ...row,
      }),
    ),
  ),
);

export const CACHES = {
  title: 'Prompt caches',
  attacks: [...marked, ...inChat, ...inResponses, ...longInputs, ...streamed, ...unreported],
};
