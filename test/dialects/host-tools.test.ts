/** Tools that hosts run: what is held for their calls and for what those bring in, and what is refused. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { startTestGateway } from '../support/gateway.ts';
import { ANSWERS, CENT, CONFIG, code, FETCH, type Name, post, SEARCH } from './tool-host.ts';

const gateway = await startTestGateway(CONFIG);
after(() => gateway.stop());
afterEach(() => gateway.assertSettled());

const CACHED = { cache_control: { type: 'ephemeral' } };

/**
 * The dialect, the fields of a request, how many calls it holds, and for each what that holds, in nanodollars. After each
 * call all input is read again: from the cache if there is one, at 100 nanodollars a token.
 */
const HELD: readonly (readonly [name: Name, fields: object, calls: number, nanos: number, again: number])[] = [
  ['responses', { tools: [SEARCH] }, 10, CENT + 1_000_000, 100],
  ['responses', { tools: [SEARCH], max_tool_calls: 2 }, 2, CENT + 1_000_000, 100],
  [
    'responses',
    { tools: [{ ...SEARCH, search_context_size: 'high' }], max_tool_calls: 3 },
    3,
    2 * CENT + 4_000_000,
    100,
  ],
  ['responses', { tools: [code({ memory_limit: '1g' })], max_tool_calls: 1 }, 1, 3 * CENT, 100],
  ['responses', { tools: [code({ memory_limit: '4g' })], max_tool_calls: 1 }, 1, 12 * CENT, 100],
  ['responses', { tools: [{ type: 'image_generation' }], max_tool_calls: 1 }, 1, 20 * CENT, 100],
  ['messages', { tools: [{ ...SEARCH, max_uses: 2 }] }, 2, CENT + 1_000_000, 1_000],
  ['messages', { tools: [{ ...SEARCH, max_uses: 2, ...CACHED }] }, 2, CENT + 1_000_000, 100],
  ['messages', { tools: [{ ...FETCH, max_uses: 3 }] }, 3, 2_000_000, 1_000],
  ['messages', { tools: [{ ...FETCH, max_uses: 3, max_content_tokens: 5_000 }] }, 3, 5_000_000, 1_000],
  ['chat', { tools: [SEARCH] }, 1, CENT + 1_000_000, 100],
  ['chat', { web_search_options: { search_context_size: 'high' } }, 1, 2 * CENT + 4_000_000, 100],
  ['chat', { enable_search: true }, 1, CENT + 1_000_000, 100],
  // The price says no tokens.
  ['chat', { tools: [{ type: 'oracle' }] }, 1, CENT + 10_000_000, 100],
];
const TEXT = 'many words '.repeat(500);

describe('a request holds what calls of tools cost, and what they may bring in', () => {
  for (const [name, fields, calls, nanos, again] of HELD) {
    test(`${name}: ${JSON.stringify(fields)}`, async () => {
      const key = gateway.key();
      const held: number[] = [];
      gateway.upstream.follow((call) => {
        held.push(Number(gateway.heldNanos(key)));
        call.answer(200, ANSWERS[name]());
      });
      // The same text, in a field that hosts may read, but no tool.
      for (const each of [fields, { x: fields }]) await post(gateway, key, name, { ...each, y: TEXT });
      const [withTools = 0, without = 0] = held;
      const input = (without - 10 * 2_000) / 1_000;
      const expected = calls * (nanos + input * again);
      // Within the estimate of the text of the fields themselves.
      assert.ok(Math.abs(withTools - without - expected) < 50_000, `${withTools - without} for ${expected}`);
    });
  }

  test('and reserves those tokens', async () => {
    const key = gateway.key({ tpm: 5_000 });
    assert.equal((await post(gateway, key, 'messages', { tools: [{ ...FETCH, max_uses: 3 }] })).status, 429);
    gateway.upstream.follow((call) => call.answer(200, ANSWERS.messages()));
    assert.equal((await post(gateway, key, 'messages', { tools: [{ ...FETCH, max_uses: 2 }] })).status, 200);
  });
});

/** The dialect, the fields of a request, and how its refusal begins. */
const REFUSED: readonly (readonly [name: Name, fields: object, problem: string])[] = [
  [
    'responses',
    { tools: [{ type: 'web_search_preview' }] },
    'tools[0]: this model has no price for a call of web_search_preview;',
  ],
  [
    'responses',
    { tools: [SEARCH, code({ memory_limit: '64g' })] },
    'tools[1].container.memory_limit: this model has no price for code_interpreter with memory_limit 64g;',
  ],
  [
    'responses',
    { tools: [{ ...SEARCH, depth: 3 }] },
    'tools[0].depth: this model has no price for web_search with depth 3;',
  ],
  [
    'responses',
    { tools: [{ type: 'image_generation', size: '4096x4096' }] },
    'tools[0].size: this model has no price for image_generation with size 4096x4096;',
  ],
  [
    'responses',
    { tools: [{ type: 'mcp', server_label: 'a' }] },
    'tools[0]: this model has no price for a call of mcp;',
  ],
  [
    'messages',
    { tools: [{ type: 'advisor_20260301', model: 'x' }] },
    'tools[0]: this model has no price for a call of advisor;',
  ],
  [
    'messages',
    { tools: [{ ...SEARCH, new: true }] },
    'tools[0].new: this model has no price for web_search with new true;',
  ],
  ['messages', { tools: [{ ...SEARCH, max_uses: 'many' }] }, 'tools[0].max_uses: expected a whole number'],
  ['chat', { tools: [{ type: 'browser_search' }] }, 'tools[0]: this model has no price for a call of browser_search;'],
  [
    'chat',
    { tools: [{ type: 'builtin_function', function: { name: '$web_search' } }] },
    'tools[0]: this model has no price for a call of $web_search;',
  ],
  [
    'chat',
    { search_parameters: { mode: 'on' } },
    'search_parameters: this model has no price for a call of live_search;',
  ],
  ['chat', { plugins: [{ id: 'web' }, { id: 'x' }] }, 'plugins[1]: this model has no price for a call of x;'],
  ['chat', { Enable_Search: true }, 'Enable_Search: differs from enable_search only by letter case'],
  [
    'chat',
    { model: 'fake/plain', enable_search: true },
    'enable_search: this model has no price for a call of web_search;',
  ],
  ['chat', { model: 'fake/sonar' }, 'model: this model has no price for a call of web_search;'],
];

describe('a tool, a field of one, or a field that switches one on, and has no price, is refused', () => {
  for (const [name, fields, problem] of REFUSED) {
    test(`${name}: ${JSON.stringify(fields)}`, async () => {
      const reply = await post(gateway, gateway.key(), name, fields);
      assert.equal(reply.status, 400);
      assert.ok(reply.error.message.startsWith(problem), reply.error.message);
    });
  }
});

test('the calls that are held are written into requests that set no maximum', async () => {
  const sent = async (name: Name, fields: object) => {
    gateway.upstream.follow((call) => call.answer(200, ANSWERS[name]()));
    await post(gateway, gateway.key(), name, fields);
    return JSON.parse((await gateway.upstream.call()).body);
  };
  assert.equal((await sent('responses', { tools: [SEARCH] })).max_tool_calls, 10);
  assert.equal((await sent('responses', { tools: [SEARCH], max_tool_calls: 30 })).max_tool_calls, 30);
  assert.equal((await sent('responses', {})).max_tool_calls, undefined);
  assert.deepEqual((await sent('messages', { tools: [FETCH] })).tools, [{ max_uses: 10, ...FETCH }]);
});
