/** Requests of other dialects at a host of Bedrock's Converse: what it is told, what is left out, what is refused, what it answers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ClientDialect } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { unknownToConverse } from '../../support/fake-bedrock.ts';
import { CONTEXT, PNG, problemOf, type Told, translated } from './hosted.ts';

const PARAMETERS = { type: 'object', properties: { a: { type: 'string' } } };
const TOOLS = { tools: [{ type: 'function', function: { name: 'f', description: 'F.', parameters: PARAMETERS } }] };
const TOOL_SPEC = { toolSpec: { name: 'f', description: 'F.', inputSchema: { json: PARAMETERS } } };
const CLAUDE = { upstream: 'eu.anthropic.claude-sonnet-5-v1:0' };
const NOVA = { upstream: 'us.amazon.nova-2-lite-v1:0' };
const MARKED = { type: 'ephemeral', ttl: '1h' };
const CACHED = { messages: [{ role: 'user', content: [{ type: 'text', text: 'A', cache_control: MARKED }] }] };
const user = (...content: Fields[]) => ({ messages: [{ role: 'user', content }] });

const CALLED = {
  messages: [
    { role: 'user', content: 'A' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c.1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }],
    },
    { role: 'tool', tool_call_id: 'c.1', content: 'C' },
  ],
};

const ROWS: readonly Told[] = [
  ['a prompt', 'chat', {}, user({ text: 'Hi' })],
  [
    'instructions',
    'chat',
    {
      messages: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'B' },
      ],
    },
    { system: [{ text: 'A' }], ...user({ text: 'B' }) },
  ],
  [
    'an image',
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] }] },
    user({ image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }),
    ['image_url.detail'],
  ],
  [
    'documents, by names that differ',
    'chat',
    {
      messages: [
        {
          role: 'user',
          content: ['a_b.pdf', 'a_b.pdf'].map((filename) => ({
            type: 'file',
            file: { filename, file_data: 'data:application/pdf;base64,JVBERi0=' },
          })),
        },
      ],
    },
    user(
      ...[1, 2].map((number) => ({
        document: { format: 'pdf', name: `a b pdf ${number}`, source: { bytes: 'JVBERi0=' } },
      })),
    ),
  ],
  ['a maximum beyond the model', 'chat', { max_tokens: 9_000 }, { inferenceConfig: { maxTokens: 8_000 } }],
  [
    'how to sample',
    'chat',
    { temperature: 0.5, top_p: 0.25, top_k: 20, stop: ['a'] },
    { inferenceConfig: { temperature: 0.5, topP: 0.25, stopSequences: ['a'] } },
    ['top_k'],
  ],
  [
    'what Claude takes beside thinking',
    'chat',
    { reasoning_effort: 'high', temperature: 0.5, top_p: 0.25, top_k: 20 },
    { additionalModelRequestFields: { thinking: { type: 'adaptive' } }, outputConfig: { effort: 'high' } },
    ['temperature', 'top_p', 'top_k'],
    CLAUDE,
  ],
  ["Claude's own words", 'chat', { top_k: 20 }, { additionalModelRequestFields: { top_k: 20 } }, [], CLAUDE],
  [
    "Nova's own words",
    'chat',
    { top_k: 20 },
    { additionalModelRequestFields: { inferenceConfig: { topK: 20 } } },
    [],
    NOVA,
  ],
  [
    'a schema',
    'responses',
    {
      text: {
        format: { type: 'json_schema', name: 'n', schema: { type: 'object', properties: {} }, description: 'D.' },
      },
    },
    {
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: {
            jsonSchema: {
              name: 'n',
              description: 'D.',
              schema: '{"type":"object","properties":{},"additionalProperties":false}',
            },
          },
        },
      },
    },
  ],
  ['tools', 'chat', TOOLS, { toolConfig: { tools: [TOOL_SPEC] } }],
  [
    'a tool that must be called',
    'chat',
    { ...TOOLS, tool_choice: { type: 'function', function: { name: 'f' } }, parallel_tool_calls: false },
    { toolConfig: { tools: [TOOL_SPEC], toolChoice: { tool: { name: 'f' } } } },
    ['parallel_tool_calls'],
  ],
  ['tools that must not be called', 'chat', { ...TOOLS, tool_choice: 'none' }, { toolConfig: undefined }],
  [
    'a call and its output',
    'chat',
    { ...TOOLS, ...CALLED },
    {
      messages: [
        { role: 'user', content: [{ text: 'A' }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: 'c_1', name: 'f', input: { a: 'b' } } }] },
        { role: 'user', content: [{ toolResult: { toolUseId: 'c_1', content: [{ text: 'C' }] } }] },
      ],
    },
  ],
  ['an effort', 'chat', { reasoning_effort: 'minimal' }, { outputConfig: { effort: 'low' } }],
  [
    "an effort of Claude's",
    'chat',
    { reasoning_effort: 'high' },
    { outputConfig: { effort: 'high' }, additionalModelRequestFields: { thinking: { type: 'adaptive' } } },
    [],
    CLAUDE,
  ],
  [
    'a budget as an effort',
    'messages',
    { thinking: { type: 'enabled', budget_tokens: 8_000 } },
    { outputConfig: { effort: 'medium' } },
  ],
  [
    'a budget of Claude',
    'chat',
    { thinking: { type: 'enabled', budget_tokens: 8_000 } },
    { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 8_000 } } },
    [],
    CLAUDE,
  ],
  [
    'signed thinking, and that of other hosts',
    'messages',
    {
      messages: [
        { role: 'user', content: 'A' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'T', signature: 'c2ln' },
            { type: 'redacted_thinking', data: 'cmVk' },
            { type: 'thinking', thinking: 'O', signature: 'google.c2ln' },
            { type: 'text', text: 'B' },
          ],
        },
        { role: 'user', content: 'C' },
      ],
    },
    {
      messages: [
        { role: 'user', content: [{ text: 'A' }] },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'T', signature: 'c2ln' } } },
            { reasoningContent: { redactedContent: 'cmVk' } },
            { text: 'B' },
          ],
        },
        { role: 'user', content: [{ text: 'C' }] },
      ],
    },
    ['messages.thinking'],
  ],
  [
    'a mark that Claude caches at',
    'chat',
    CACHED,
    user({ text: 'A' }, { cachePoint: { type: 'default', ttl: '1h' } }),
    [],
    CLAUDE,
  ],
  ['a mark that Nova caches at', 'chat', CACHED, user({ text: 'A' }, { cachePoint: { type: 'default' } }), [], NOVA],
  ['a mark that others would refuse', 'chat', CACHED, user({ text: 'A' }), ['cache_control']],
  ['a tier', 'chat', { service_tier: 'flex' }, { serviceTier: { type: 'flex' } }],
];

describe('a request at a host of Converse says', () => {
  for (const [what, from, request, sent, ignored = [], terms = {}] of ROWS) {
    test(`${what}, from ${from}`, () => {
      const { fields, ignored: left } = translated(from, 'converse', request, terms);
      const { model: _, stream: __, ...body } = fields;
      assert.equal(unknownToConverse(body), undefined);
      const part = Object.fromEntries(Object.keys(sent).map((name) => [name, fields[name]]));
      assert.deepEqual(part, sent);
      assert.deepEqual(left, ignored);
    });
  }
});

const PROBLEMS: readonly (readonly [what: string, from: ClientDialect, request: Fields, problem: RegExp])[] = [
  ['a temperature above 1', 'chat', { temperature: 1.5 }, /^temperature: expected at most 1/],
  [
    'an address of an image',
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }] }] },
    /url: expected a data URL/,
  ],
  ['no call after calls', 'chat', { ...TOOLS, ...CALLED, tool_choice: 'none' }, /^tool_choice: /],
  ['an unknown effort', 'chat', { reasoning_effort: 'huge' }, /^reasoning_effort: expected one of none, minimal/],
  ['probabilities', 'chat', { logprobs: true }, /^logprobs: /],
];

describe('a request that Converse cannot say is refused:', () => {
  for (const [what, from, request, problem] of PROBLEMS) {
    test(what, () => assert.match(problemOf(from, 'converse', request), problem));
  }
});

const USAGE = {
  inputTokens: 5,
  outputTokens: 7,
  totalTokens: 12,
  cacheReadInputTokens: 3,
  cacheWriteInputTokens: 2,
  cacheDetails: [{ ttl: '1h', inputTokens: 2 }],
};

const ANSWER = {
  output: {
    message: {
      role: 'assistant',
      content: [
        { reasoningContent: { reasoningText: { text: 'Thought.', signature: 'c2ln' } } },
        { text: 'Hello.' },
        { toolUse: { toolUseId: 'call_1', name: 'f', input: { a: 'b' } } },
      ],
    },
  },
  stopReason: 'tool_use',
  usage: USAGE,
  serviceTier: { type: 'flex' },
};

const at = (contentBlockIndex: number, fields: Fields) => ({ contentBlockIndex, ...fields });
const EVENTS: readonly Fields[] = [
  { messageStart: { role: 'assistant' } },
  { contentBlockDelta: at(0, { delta: { reasoningContent: { text: 'Thou' } } }) },
  { contentBlockDelta: at(0, { delta: { reasoningContent: { text: 'ght.' } } }) },
  { contentBlockDelta: at(0, { delta: { reasoningContent: { signature: 'c2ln' } } }) },
  { contentBlockStop: at(0, {}) },
  { contentBlockDelta: at(1, { delta: { text: 'Hello.' } }) },
  { contentBlockStop: at(1, {}) },
  { contentBlockStart: at(2, { start: { toolUse: { toolUseId: 'call_1', name: 'f' } } }) },
  { contentBlockDelta: at(2, { delta: { toolUse: { input: '{"a":' } } }) },
  { contentBlockDelta: at(2, { delta: { toolUse: { input: '"b"}' } } }) },
  { contentBlockStop: at(2, {}) },
  { messageStop: { stopReason: 'tool_use' } },
  { metadata: { usage: USAGE, metrics: { latencyMs: 1 } } },
];

const ASKED: Readonly<Record<string, Fields>> = {
  chat: TOOLS,
  messages: { tools: [{ name: 'f', input_schema: PARAMETERS }], thinking: { type: 'enabled', budget_tokens: 2_000 } },
  responses: {
    tools: [{ type: 'function', name: 'f', parameters: PARAMETERS }],
    reasoning: { summary: 'auto', effort: 'low' },
  },
  gemini: { tools: [{ functionDeclarations: [{ name: 'f', parameters: PARAMETERS }] }] },
};

describe('an answer of Converse says all that it holds,', () => {
  for (const from of ['chat', 'messages', 'responses', 'gemini'] as const) {
    const { response } = translated(from, 'converse', ASKED[from] as Fields);
    const holds = (text: string, pieces: readonly string[]) => {
      for (const piece of pieces) assert.ok(text.includes(piece), `${piece} in ${text}`);
    };

    test(`whole, to a client of ${from}`, () => {
      holds(JSON.stringify(response.answer(ANSWER, CONTEXT)), ['Hello.', 'call_1', '"f"', 'b', '7']);
    });

    test(`streamed, to a client of ${from}`, () => {
      const stream = response.stream(CONTEXT);
      const events = EVENTS.map((event) => stream.push(event)).join('') + stream.completion();
      holds(events, ['Hello.', 'call_1', '"f"', 'b']);
    });
  }

  test('with thinking that its client gives back as it was', () => {
    const { response } = translated('messages', 'converse', ASKED.messages as Fields);
    const { content } = response.answer(ANSWER, CONTEXT);
    const back = {
      messages: [
        { role: 'user', content: 'A' },
        { role: 'assistant', content },
        { role: 'user', content: 'B' },
      ],
    };
    const [, assistant] = translated('messages', 'converse', back).fields.messages as readonly Fields[];
    assert.deepEqual(assistant?.content, ANSWER.output.message.content);
  });
});
