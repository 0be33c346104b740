/** Responses requests for hosts of the messages dialect: what such a host alone is told, and what it is to cache. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { encryptedContent, thinkingBlock } from '../../../src/translate/responses/thinking.ts';
import { MODEL, PNG } from './hosted.ts';
import { call, image, message, output, said, text, translated, WITH_CACHE_POINTS } from './responses-support.ts';

const HI = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
const adaptive = (effort: string, more: Fields = {}) => ({
  thinking: { type: 'adaptive', ...more },
  output_config: { effort },
});

type Case = readonly [what: string, fields: Fields, messages: Fields, ignored?: readonly string[]];

const CASES: readonly Case[] = [
  [
    'a little reasoning, with a summary',
    { reasoning: { effort: 'minimal', summary: 'auto' } },
    adaptive('low', { display: 'summarized' }),
  ],
  ['a summary of no reasoning', { reasoning: { summary: 'auto' } }, {}, ['reasoning.summary']],
  ['a short text', { text: { verbosity: 'low' } }, {}, ['text.verbosity']],
  [
    'what belongs to the own host of the client',
    { include: ['reasoning.encrypted_content'], client_metadata: {}, prompt_cache_retention: '24h' },
    {},
    ['client_metadata', 'include', 'prompt_cache_retention'],
  ],
];

describe('what becomes of fields at a host of the messages dialect', () => {
  for (const [what, fields, messages, ignored = []] of CASES) {
    test(what, () => {
      const result = translated('messages', fields);
      assert.deepEqual(result.fields, { model: MODEL, max_tokens: 64_000, messages: [HI], ...messages });
      assert.deepEqual([...result.ignored].sort(), ignored);
    });
  }
});

/** Where the blocks are that are marked: `system[0]`, `messages[1].content[0]`. */
function marksOf({ system = [], messages }: Fields): readonly string[] {
  const found: [where: string, block: Fields][] = (system as readonly Fields[]).map((block, index) => [
    `system[${index}]`,
    block,
  ]);
  for (const [at, { content }] of (messages as readonly { content: readonly Fields[] }[]).entries()) {
    for (const [index, block] of content.entries()) found.push([`messages[${at}].content[${index}]`, block]);
  }
  return found.filter(([, block]) => block.cache_control !== undefined).map(([where]) => where);
}

const END = { prompt_cache_breakpoint: { mode: 'explicit' } };
const LONG = [
  message('developer', text('A'), text('B')),
  message('user', text('one', END), text('two', END)),
  message('assistant', said('Yes.')),
  message('user', text('three', END), text('four', END), image(PNG, END), text('five')),
  call('c', 'a', '{}'),
  output('c', [text('six', END), text('seven')]),
];

const CACHED: readonly (readonly [
  what: string,
  fields: Fields,
  marks: readonly string[],
  ignored?: readonly string[],
])[] = [
  ['no cache', { input: [message('user', text('Hi'))] }, ['messages[0].content[0]']],
  ['a cache by its key', { prompt_cache_key: 'k', instructions: 'A' }, ['system[0]', 'messages[0].content[0]']],
  ['a cache by its key, and no instructions', { prompt_cache_key: 'k' }, ['messages[0].content[0]']],
  ['a cache with options', { prompt_cache_options: {} }, ['messages[0].content[0]']],
  [
    'lifetimes',
    {
      prompt_cache_options: { ttl: '12h', mode: 'explicit' },
      input: [message('user', text('Hi', { prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }))],
    },
    ['messages[0].content[0]'],
    ['input.prompt_cache_breakpoint.ttl', 'prompt_cache_options.ttl'],
  ],
  [
    'the last four of the marks of the client',
    { input: LONG },
    ['messages[2].content[0]', 'messages[2].content[1]', 'messages[2].content[2]', 'messages[4].content[0]'],
  ],
  [
    'the last marks of the client, and one at the end',
    { input: [...LONG, message('user', text('eight'))], prompt_cache_key: 'k' },
    ['messages[2].content[1]', 'messages[2].content[2]', 'messages[4].content[0]', 'messages[4].content[1]'],
  ],
  [
    'few marks of the client, and one at the end',
    { input: [...LONG.slice(0, 2), message('user', text('Hi'))], prompt_cache_key: 'k' },
    ['messages[0].content[0]', 'messages[0].content[1]', 'messages[0].content[2]'],
  ],
  [
    'only the marks of the client',
    { input: LONG.slice(0, 2), prompt_cache_key: 'k', prompt_cache_options: { mode: 'explicit' } },
    ['messages[0].content[0]', 'messages[0].content[1]'],
  ],
];

describe('what a host of the messages dialect is to cache', () => {
  for (const [what, fields, marks, ignored = []] of CACHED) {
    test(what, () => {
      const result = translated('messages', fields, WITH_CACHE_POINTS);
      assert.deepEqual(marksOf(result.fields), marks);
      assert.deepEqual([...result.ignored].sort(), ignored);
    });
  }
});

test('a chat host is not told what to cache in a conversation', () => {
  assert.deepEqual(translated('chat', { input: LONG.slice(0, 2) }).ignored, ['input.prompt_cache_breakpoint']);
});

test('only content that was made here holds thinking', () => {
  const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };
  const content = encryptedContent(thinking);
  assert.deepEqual(thinkingBlock(content), thinking);
  const others = [{ ...thinking, signature: 1 }, { type: 'redacted_thinking' }, { type: 'text', text: 'Hm.' }, [], 'x'];
  const foreign = [`response${content.slice('messages'.length)}`, 'messages.', 'messages.{}', undefined, null, {}];
  for (const each of [...others.map((block) => encryptedContent(block as Fields)), ...foreign]) {
    assert.equal(thinkingBlock(each), undefined);
  }
});
