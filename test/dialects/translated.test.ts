/** Requests of one dialect at a host of another: what the host gets, what it costs, and what was left out. */
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import { completion } from '../support/answers.ts';
import { startTestGateway } from '../support/gateway.ts';

const PRICES = { input: 1, cached_input: 0.1, output: 5, cache_write: 1.25, cache_write_1h: 2 };
const CLAUDE = {
  echo: { ...PRICES, max_output: 2_000, hold_output: 50 },
  thinker: { ...PRICES, upstream: 'claude-sonnet-5', max_output: 2_000, hold_output: 50 },
  open: PRICES,
};
const gateway = await startTestGateway({
  provider: {
    dialects: ['chat'],
    models: {
      echo: { input: 1, output: 2, max_output: 1_000 },
      plain: { input: 1, output: 2, ignore_fields: ['reasoning_effort'] },
    },
    ignore_tools: ['mcp', 'file_search'],
  },
});
const claude = await startTestGateway({
  provider: { kind: 'anthropic', models: CLAUDE },
});
after(async () => {
  await gateway.stop();
  await claude.stop();
});
afterEach(async () => {
  await gateway.assertSettled();
  await claude.assertSettled();
});

const MESSAGE = { max_tokens: 100, messages: [{ role: 'user', content: 'Hello!' }] };
const answer = {
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 9, output_tokens: 3 },
};

function post(at: typeof gateway, path: string, body: object, key = at.key()) {
  return at.post(path, key, { model: 'fake/echo', ...body });
}

describe('a message for a host of chat completions', () => {
  test('is charged as its host reports, and says what was left out', async () => {
    gateway.upstream.follow((call) => call.answer(200, completion('Hi.')));
    const key = gateway.key();
    const body = { ...MESSAGE, system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] };
    const reply = await post(gateway, '/v1/messages', body, key);
    assert.equal(reply.headers.get('x-inf-gw-ignored'), 'cache_control');
    const { content, stop_reason: reason, usage } = JSON.parse(reply.text);
    assert.deepEqual([content, reason], [[{ type: 'text', text: 'Hi.' }], 'end_turn']);
    const [row] = gateway.rows(key);
    const input = usage.input_tokens + usage.cache_read_input_tokens;
    assert.deepEqual([row?.prompt_tokens, row?.completion_tokens], [input, usage.output_tokens]);
    const call = await gateway.upstream.call();
    assert.equal(call.path, '/base/v1/chat/completions');
    assert.deepEqual(JSON.parse(call.body).messages[0], { role: 'system', content: 'Be brief.' });
  });

  test('leaves out what its model does not know', async () => {
    gateway.upstream.follow((call) => call.answer(200, completion('Hi.')));
    const effort = { ...MESSAGE, output_config: { effort: 'high' } };
    const reply = await post(gateway, '/v1/messages', { ...effort, model: 'fake/plain' });
    assert.equal(reply.headers.get('x-inf-gw-ignored'), 'reasoning_effort');
    assert.equal('reasoning_effort' in JSON.parse((await gateway.upstream.call()).body), false);
    await post(gateway, '/v1/messages', effort);
    assert.equal(JSON.parse(gateway.upstream.calls.at(-1)?.body ?? '').reasoning_effort, 'high');
  });

  test('has its tokens counted by the gateway', async () => {
    const reply = await post(gateway, '/v1/messages/count_tokens', { messages: MESSAGE.messages });
    assert.equal(reply.status, 200);
    assert.ok(JSON.parse(reply.text).input_tokens > 2);
  });

  test('is refused with the field that cannot be said, and nothing is sent', async () => {
    const reply = await post(gateway, '/v1/messages', { ...MESSAGE, top_k: 5 });
    assert.deepEqual([reply.status, JSON.parse(reply.text).error.code], [400, 'invalid_request']);
    assert.match(reply.error.message, /^top_k: /);
  });

  test('reads an error of the host in its own dialect', async () => {
    gateway.upstream.follow((call) => call.answer(503, { error: { message: 'busy', code: 'overloaded' } }));
    const reply = await post(gateway, '/v1/messages', MESSAGE);
    const { type, error } = JSON.parse(reply.text);
    assert.deepEqual([reply.status, type, error.type, error.code], [502, 'error', 'api_error', 'upstream_error']);
  });
});

describe("tools of the client's own host", () => {
  const tools = (...types: readonly string[]) => ({ input: 'Hello!', tools: types.map((type) => ({ type })) });

  test('are left out and named if agents always send them or the provider says so', async () => {
    gateway.upstream.follow((call) => call.answer(200, completion('Hi.')));
    const reply = await post(gateway, '/v1/responses', tools('web_search', 'mcp'));
    assert.deepEqual([reply.status, reply.headers.get('x-inf-gw-ignored')], [200, 'tools.web_search, tools.mcp']);
    assert.equal('tools' in JSON.parse((await gateway.upstream.call()).body), false);
  });

  for (const tool of [
    { type: 'mcp', server_label: 'a', server_url: 'https://a.example' },
    { type: 'mcp', server_label: 'a', connector_id: 'connector_1' },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
  ]) {
    test(`are left out with what they name at it: ${Object.keys(tool).at(-1)} of ${tool.type}`, async () => {
      gateway.upstream.follow((call) => call.answer(200, completion('Hi.')));
      const reply = await post(gateway, '/v1/responses', { ...tools(), tools: [tool] });
      assert.deepEqual([reply.status, reply.headers.get('x-inf-gw-ignored')], [200, `tools.${tool.type}`]);
      assert.equal('tools' in JSON.parse((await gateway.upstream.call()).body), false);
    });
  }

  test('are refused otherwise, with what to set', async () => {
    for (const { upstream } of [gateway, claude]) upstream.follow((call) => call.answer(500, {}));
    for (const [at, types] of [
      [gateway, ['image_generation']],
      [claude, ['mcp']],
    ] as const) {
      const reply = await post(at, '/v1/responses', tools(...types));
      assert.deepEqual([reply.status, reply.error.code], [400, 'invalid_request']);
      assert.match(reply.error.message, new RegExp(`^tools\\[0\\]\\.type: .*${types[0]}.*ignore_tools`));
      assert.equal(at.upstream.calls.length, 0);
    }
  });

  test('are refused by their type also where a message offers them', async () => {
    const tools = [{ type: 'bash_20250124', name: 'bash' }];
    const reply = await post(gateway, '/v1/messages', { ...MESSAGE, tools });
    assert.equal(reply.status, 400);
    assert.match(
      reply.error.message,
      /^tools\[0\]\.type: Input tag 'bash_20250124' found using 'type' does not match .*ignore_tools/,
    );
  });
});

describe('a chat completion for a host of messages', () => {
  const chat = { messages: [{ role: 'user', content: 'Hello!' }] };

  test('reaches it without the hints that it cannot be told, and names them', async () => {
    claude.upstream.follow((call) => call.answer(200, answer));
    const assistant = { role: 'assistant', content: 'A', provider_specific_fields: { a: 1 } };
    const body = { messages: [...chat.messages, assistant, ...chat.messages], verbosity: 'low', metadata: { a: 'b' } };
    const reply = await post(claude, '/v1/chat/completions', {
      ...body,
      thinking: { type: 'adaptive' },
      temperature: 0,
    });
    assert.equal(reply.status, 200, reply.text);
    const named = (reply.headers.get('x-inf-gw-ignored') ?? '').split(', ').sort();
    assert.deepEqual(named, ['messages.provider_specific_fields', 'metadata', 'temperature', 'verbosity']);
    const sent = JSON.parse((await claude.upstream.call()).body);
    assert.deepEqual(Object.keys(sent).sort(), ['max_tokens', 'messages', 'model', 'thinking']);
  });

  for (const [what, model, written] of [
    ['the maximum of its model', 'fake/echo', 2_000],
    ['the default, where there is none', 'fake/open', 512],
  ] as const) {
    test(`declares ${what}, and is held for it`, async () => {
      const key = claude.key();
      let held = 0n;
      claude.upstream.follow((call) => {
        held = claude.heldNanos(key);
        call.answer(200, answer);
      });
      const reply = await post(claude, '/v1/chat/completions', { ...chat, model }, key);
      assert.equal(JSON.parse(reply.text).choices[0].message.content, 'Hi.');
      assert.equal(JSON.parse((await claude.upstream.call()).body).max_tokens, written);
      const input = Number(held) - written * 5_000;
      assert.ok(input > 1_000 && input < 30_000, `${input} nanodollars for the input`);
      assert.equal(claude.rows(key)[0]?.cost_nanos, 9_000 + 15_000);
    });
  }

  describe('that is streamed is held for hold_output, and for all thinking that may be hidden:', () => {
    const STREAMS: readonly (readonly [path: string, fields: object, outputTokens: number])[] = [
      ['messages', {}, 50],
      ['messages', { thinking: { type: 'disabled' } }, 50],
      ['messages', { thinking: { type: 'enabled', budget_tokens: 1_024 } }, 1_074],
      ['messages', { thinking: { type: 'adaptive' } }, 1_500],
      ['messages', { model: 'fake/thinker' }, 1_500],
      ['messages', { model: 'fake/thinker', thinking: { type: 'disabled' } }, 50],
      // It knows no budgets, and some hosts pass over them.
      ['messages', { model: 'fake/thinker', thinking: { type: 'enabled', budget_tokens: 1_024 } }, 1_500],
      ['chat/completions', {}, 50],
      ['chat/completions', { reasoning_effort: 'high' }, 1_500],
      ['chat/completions', { thinking: { type: 'enabled', budget_tokens: 1_024 } }, 1_074],
      ['chat/completions', { thinking: { type: 'adaptive' } }, 1_500],
      ['chat/completions', { model: 'fake/thinker', thinking: { type: 'enabled', budget_tokens: 1_024 } }, 1_500],
    ];
    for (const [path, fields, outputTokens] of STREAMS) {
      test(`${outputTokens} tokens of ${path} with ${JSON.stringify(fields)}`, async () => {
        const key = claude.key();
        let held = 0;
        claude.upstream.follow((call) => {
          held = Number(claude.heldNanos(key));
          call.answer(529, { type: 'error', error: { type: 'overloaded_error', message: 'x' } });
        });
        await post(claude, `/v1/${path}`, { ...MESSAGE, max_tokens: 1_500, stream: true, ...fields }, key);
        const input = held - outputTokens * 5_000;
        assert.ok(input > 1_000 && input < 100_000, `${held} nanodollars`);
      });
    }
  });

  test('is held at the price of what its parts ask to be cached', async () => {
    const key = claude.key();
    const held: number[] = [];
    claude.upstream.follow((call) => {
      held.push(Number(claude.heldNanos(key)));
      call.answer(200, answer);
    });
    for (const control of [{}, { cache_control: { type: 'ephemeral', ttl: '1h' } }]) {
      const content = [{ type: 'text', text: 'Many words. '.repeat(500), ...control }];
      await post(claude, '/v1/chat/completions', { max_tokens: 1, messages: [{ role: 'user', content }] }, key);
    }
    // The gateway has the first one cached for five minutes, at 1.25 USD a million tokens.
    const [short, hour] = held.map((nanos) => nanos - 5_000) as [number, number];
    assert.ok(hour / short > 1.55 && hour / short < 1.65, `${short}, ${hour}`);
  });
});

describe('a host that refuses the key or the model of the gateway', () => {
  const ASKED = {
    '/v1/chat/completions': { messages: [{ role: 'user', content: 'Hello!' }] },
    '/v1/messages': MESSAGE,
    '/v1/responses': { input: 'Hello!' },
  };
  for (const [path, body] of Object.entries(ASKED)) {
    for (const status of [401, 403, 404]) {
      test(`with ${status} is told as the operator's fault, with a status that clients of ${path} do not retry`, async () => {
        gateway.upstream.follow((call) => call.answer(status, { error: { message: 'canary' } }));
        const reply = await post(gateway, path, body);
        const { code, message } = JSON.parse(reply.text).error;
        assert.deepEqual([reply.status, code], [path === '/v1/chat/completions' ? 502 : 424, 'upstream_error']);
        assert.match(
          message,
          /^The provider fake responded with status \d+\. The operator of this gateway must check /,
        );
        assert.doesNotMatch(reply.text, /canary/);
        assert.equal(reply.headers.get('x-should-retry'), 'false');
      });
    }
  }
});
