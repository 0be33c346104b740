/** Cache points that the gateway sets for clients which cannot mark them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { translated } from './hosted.ts';
import { WITH_CACHE_POINTS } from './responses-support.ts';

const SCHEMA = { type: 'object', properties: {} };
const EPHEMERAL = { type: 'ephemeral' };

/** The same conversation in each dialect: two tools, a system prompt, two turns of the user. */
const CONVERSATIONS: Readonly<Record<'chat' | 'responses' | 'gemini', Fields>> = {
  chat: {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
    tools: ['a', 'b'].map((name) => ({ type: 'function', function: { name, parameters: SCHEMA } })),
  },
  responses: {
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
      { role: 'user', content: 'three' },
    ],
    tools: ['a', 'b'].map((name) => ({ type: 'function', name, parameters: SCHEMA, strict: false })),
  },
  gemini: {
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'one' }] },
      { role: 'model', parts: [{ text: 'two' }] },
      { role: 'user', parts: [{ text: 'three' }] },
    ],
    tools: [{ functionDeclarations: ['a', 'b'].map((name) => ({ name, parameters: SCHEMA })) }],
  },
};

/** The paths of the blocks that are marked. */
function marksIn(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const own = 'cache_control' in value ? [path] : [];
  return [
    ...own,
    ...Object.entries(value).flatMap(([key, each]) => marksIn(each, path === '' ? key : `${path}.${key}`)),
  ];
}

const ENDS = ['system.0', 'messages.2.content.0', 'tools.1'];

describe('a request for a host of messages is marked at the end of tools, system prompt and last turn', () => {
  for (const [client, body] of Object.entries(CONVERSATIONS)) {
    test(`by a client of ${client}`, () => {
      const { fields, ignored } = translated(client as 'chat', 'messages', body, WITH_CACHE_POINTS);
      assert.deepEqual(marksIn(fields).sort(), ENDS.toSorted());
      assert.deepEqual(ignored, []);
    });

    test(`and not where the model has \`cache_points: off\`, by a client of ${client}`, () => {
      const terms = { ...WITH_CACHE_POINTS, setsCachePoints: false };
      assert.deepEqual(marksIn(translated(client as 'chat', 'messages', body, terms).fields), []);
    });
  }

  test('unless its client marks it itself', () => {
    const content = [
      { type: 'text', text: 'one', cache_control: EPHEMERAL },
      { type: 'text', text: 'two' },
    ];
    const body = { ...CONVERSATIONS.chat, messages: [{ role: 'user', content }] };
    assert.deepEqual(marksIn(translated('chat', 'messages', body, WITH_CACHE_POINTS).fields), ['messages.0.content.0']);
  });
});
