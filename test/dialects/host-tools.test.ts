/** Tools that hosts run: what is held and charged for their calls and for what those bring in, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chunk, DONE, streaming } from '../support/answers.ts';
import { sharedGateway, withGateway } from '../support/gateway.ts';
import { until } from '../support/wait.ts';
import { ANSWERS, BODIES, CENT, CONFIG, code, FETCH, type Name, PATHS, post, SEARCH, TOKENS } from './tool-host.ts';

const gateway = await sharedGateway(CONFIG);

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
    "tools[0]: Input tag 'advisor_20260301' found using 'type' does not match any of the expected tags: this model has no price for a call of advisor;",
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

const image = (id: string, more: object) => ({ type: 'image_generation_call', id, status: 'completed', ...more });
const ran = (id: string, container_id: string) => ({ type: 'code_interpreter_call', id, container_id });
const acted = (id: string, type: string) => ({ type: 'web_search_call', id, action: { type } });

/** What a host answers, and what that costs beyond its tokens, in nanodollars. */
const CHARGED: readonly (readonly [what: string, name: Name, fields: object, answer: object, nanos: number])[] = [
  [
    'a search, but no page that is opened',
    'responses',
    { tools: [SEARCH] },
    { output: [acted('a', 'search'), acted('b', 'open_page'), acted('c', 'find_in_page')] },
    CENT,
  ],
  [
    'the searches that the host bills',
    'responses',
    { tools: [SEARCH] },
    { tool_usage: { web_search: { num_requests: 3 } } },
    3 * CENT,
  ],
  [
    'one container once',
    'responses',
    { tools: [code({})] },
    { output: [ran('a', 'c1'), ran('b', 'c1'), ran('c', 'c2')] },
    6 * CENT,
  ],
  [
    'a variant that was asked for',
    'responses',
    { tools: [code({ memory_limit: '4g' })] },
    { output: [ran('a', 'c1')] },
    12 * CENT,
  ],
  [
    'the variant that the host says',
    'responses',
    { tools: [{ type: 'image_generation' }] },
    { output: [image('a', { size: '1024x1024', quality: 'low' }), image('b', { size: '1024x1024', quality: 'high' })] },
    21 * CENT,
  ],
  [
    'the dearest where it says none',
    'responses',
    { tools: [{ type: 'image_generation' }] },
    { output: [image('a', {})] },
    20 * CENT,
  ],
  [
    'what a report counts of a tool whose calls are not shown',
    'responses',
    { tools: [{ type: 'oracle' }] },
    { usage: { input_tokens: 10, output_tokens: 5, server_side_tool_usage_details: { oracle_calls: 2 } } },
    2 * CENT,
  ],
  ['all calls that may be, without one', 'responses', { tools: [{ type: 'oracle' }], max_tool_calls: 3 }, {}, 3 * CENT],
  ['a search of chat, which no answer shows', 'chat', { tools: [SEARCH] }, {}, CENT],
];

describe('charged is', () => {
  for (const [what, name, fields, answer, nanos] of CHARGED) {
    test(what, async () => {
      const key = gateway.key();
      gateway.upstream.follow((call) => call.answer(200, ANSWERS[name](answer)));
      assert.equal((await post(gateway, key, name, fields)).status, 200);
      assert.equal((await gateway.row(key)).cost_nanos, TOKENS + nanos);
    });
  }
});

const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const searched = (index: number) =>
  event('response.output_item.done', { output_index: index, item: acted(`w${index}`, 'search') });
const opened = (index: number) =>
  event('response.output_item.done', { output_index: index, item: acted(`w${index}`, 'open_page') });
const CREATED = event('response.created', { response: { id: 'resp_1', status: 'in_progress' } });
const ended = (output: object[]) => event('response.completed', { response: ANSWERS.responses({ output }) });

describe('a stream', () => {
  test('is charged for each search once, when it knows what each call did', async () => {
    const key = gateway.key();
    const begun = [0, 1].map((index) =>
      event('response.output_item.added', { output_index: index, item: { type: 'web_search_call', id: `w${index}` } }),
    );
    const output = [acted('w0', 'search'), acted('w1', 'open_page')];
    gateway.upstream.follow(streaming(CREATED, ...begun, searched(0), opened(1), ended(output)));
    await post(gateway, key, 'responses', { tools: [SEARCH], stream: true });
    assert.equal((await gateway.row(key)).cost_nanos, TOKENS + CENT);
  });

  test('that a client leaves is charged for its calls, and for what they brought in', async () => {
    const key = gateway.key();
    gateway.upstream.follow((call) => {
      call.stream();
      call.send(CREATED + searched(0) + searched(1));
    });
    const body = JSON.stringify({ model: 'fake/tools', ...BODIES.responses, tools: [SEARCH], stream: true });
    const connection = await gateway.sending(
      `POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key.secret}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await connection.has('w1');
    connection.leave();
    const row = await gateway.row(key);
    assert.equal(row.source, 'counted');
    // Its input was read once, and once more from the cache after each call.
    const { prompt_tokens: input, cached_tokens: again } = row;
    assert.ok(again > 10 && input === 1.5 * again + 2_000, `${input} and ${again}`);
    assert.equal(row.cost_nanos, (input - again) * 1_000 + again * 100 + row.completion_tokens * 2_000 + 2 * CENT);
  });

  for (const [what, control, price] of [
    ['with a cache', { cache_control: { type: 'ephemeral' } }, 100],
    ['without one', {}, 1_000],
  ] as const) {
    test(`of messages that breaks off, ${what}, is charged for its calls and for reading its input again`, async () => {
      const key = gateway.key();
      const block = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} };
      const { usage, ...start } = ANSWERS.messages() as { readonly usage: object };
      gateway.upstream.follow(
        streaming(
          event('message_start', { message: { ...start, stop_reason: null } }),
          event('content_block_start', { index: 0, content_block: block }),
        ),
      );
      const tool = { type: 'web_search_20250305', name: 'web_search', ...control };
      await post(gateway, key, 'messages', { tools: [tool], stream: true, system: 'word '.repeat(1_000) });
      const row = await gateway.row(key);
      const input = price === 100 ? row.cached_tokens : (row.prompt_tokens - 1_000) / 2;
      assert.ok(input > 1_000, `${input}`);
      assert.equal(row.prompt_tokens, 2 * input + 1_000);
      const tokens = (input + 1_000) * 1_000 + input * price + row.completion_tokens * 2_000;
      assert.equal(row.cost_nanos, tokens + CENT);
    });
  }

  test('holds more before it relays a call beyond those held', () =>
    withGateway(CONFIG, async (own) => {
      const key = own.key();
      const goOn = own.upstream.streamInTwo(
        CREATED + searched(0) + searched(1),
        ended([acted('w0', 'search'), acted('w1', 'search')]),
      );
      const body = { model: 'fake/tools', ...BODIES.responses, tools: [SEARCH], max_tool_calls: 1, stream: true };
      const reply = own.post(PATHS.responses, key, body);
      await until(() => Number(own.heldNanos(key)) > 2 * (CENT + 1_000_000));
      goOn();
      assert.ok((await reply).text.includes('response.completed'));
    }));

  test('is cut at a call for which there is no money', () =>
    withGateway({ ...CONFIG, credit: '0.0125' }, async (own) => {
      const key = own.key();
      own.upstream.follow(streaming(CREATED, searched(0), searched(1), searched(2), ended([])));
      const body = { model: 'fake/tools', ...BODIES.responses, tools: [SEARCH], max_tool_calls: 1, stream: true };
      const { text } = await own.post(PATHS.responses, key, body);
      assert.ok(text.includes('"w0"') && !text.includes('"w1"'), text);
      assert.equal((await own.row(key)).outcome, 'insufficient_credit');
    }));

  test('of chat that reports nothing is charged for its search, and for what that brought in', async () => {
    const key = gateway.key();
    gateway.upstream.follow(streaming(chunk('Hi', 'stop'), DONE));
    await post(gateway, key, 'chat', { enable_search: true, stream: true });
    const row = await gateway.row(key);
    const { prompt_tokens: input, cached_tokens: again } = row;
    assert.equal(row.cost_nanos, (input - again) * 1_000 + again * 100 + row.completion_tokens * 2_000 + CENT);
    assert.ok(input > 1_000, `${input}`);
  });
});

test('the journal has the price of each kind of call', async () => {
  const key = gateway.key();
  gateway.upstream.follow((call) => call.answer(200, ANSWERS.responses({ output: [ran('a', 'c1')] })));
  await post(gateway, key, 'responses', { tools: [code({ memory_limit: '4g' })] });
  assert.equal((await gateway.row(key)).price, '1/0.1/2 tools.code_interpreter(memory_limit:4g)=0.12');
});
