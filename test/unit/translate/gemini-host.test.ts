/** Requests of other dialects at a host of Google's: what it is told, what is left out, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT, PNG, problemOf, type Told, translated } from './hosted.ts';

const FUNCTION = {
  name: 'f',
  description: 'F.',
  parameters: { type: 'object', properties: { a: { type: 'string' } } },
};
const TOOLS = { tools: [{ type: 'function', function: FUNCTION }] };
const DECLARED = {
  tools: [{ functionDeclarations: [{ name: 'f', description: 'F.', parametersJsonSchema: FUNCTION.parameters }] }],
};
const OF_2_5 = { upstream: 'gemini-2.5-flash' };
const PRO_2_5 = { upstream: 'gemini-2.5-pro' };
const PRO_3 = { upstream: 'gemini-3-pro' };
const thinking = (config: Fields) => ({ generationConfig: { thinkingConfig: config } });

const ROWS: readonly Told[] = [
  ['a prompt', 'chat', {}, { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }],
  [
    'instructions',
    'chat',
    {
      messages: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'B' },
        { role: 'developer', content: 'C' },
        { role: 'user', content: 'D' },
      ],
    },
    {
      systemInstruction: { parts: [{ text: 'A' }, { text: 'C' }] },
      contents: [{ role: 'user', parts: [{ text: 'B' }, { text: 'D' }] }],
    },
  ],
  [
    'an image',
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] }] },
    { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }] }] },
    ['image_url.detail'],
  ],
  [
    'the address of an image',
    'messages',
    {
      messages: [
        { role: 'user', content: [{ type: 'image', source: { type: 'url', url: 'https://a.example/b.jpg?c' } }] },
      ],
    },
    {
      contents: [
        { role: 'user', parts: [{ fileData: { mimeType: 'image/jpeg', fileUri: 'https://a.example/b.jpg?c' } }] },
      ],
    },
  ],
  [
    'a document',
    'messages',
    {
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
        },
      ],
    },
    { contents: [{ role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } }] }] },
  ],
  ['a maximum', 'chat', { max_tokens: 70 }, { generationConfig: { maxOutputTokens: 70 } }],
  [
    'a maximum beyond the model',
    'chat',
    { max_completion_tokens: 9_000 },
    { generationConfig: { maxOutputTokens: 8_000 } },
  ],
  [
    'how to sample',
    'chat',
    { temperature: 1.5, top_p: 0.5, top_k: 20, stop: ['a', 'b'] },
    { generationConfig: { temperature: 1.5, topP: 0.5, topK: 20, stopSequences: ['a', 'b'] } },
  ],
  [
    'a JSON object',
    'chat',
    { response_format: { type: 'json_object' } },
    { generationConfig: { responseMimeType: 'application/json' } },
  ],
  [
    'a schema',
    'responses',
    { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, description: 'D.' } } },
    {
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: { description: 'D.', type: 'object' },
      },
    },
  ],
  ['tools', 'chat', TOOLS, DECLARED],
  [
    'a tool that is strict',
    'chat',
    { tools: [{ type: 'function', function: { ...FUNCTION, strict: true } }] },
    DECLARED,
    ['tools.strict'],
  ],
  [
    'no tool to be called',
    'chat',
    { ...TOOLS, tool_choice: 'none' },
    { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
  ],
  [
    'any tool to be called',
    'messages',
    { tools: [{ name: 'f', input_schema: { type: 'object' } }], tool_choice: { type: 'any' } },
    { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
  ],
  [
    'one tool to be called',
    'chat',
    { ...TOOLS, tool_choice: { type: 'function', function: { name: 'f' } } },
    { toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } } },
  ],
  ['one call at a time', 'chat', { ...TOOLS, parallel_tool_calls: false }, DECLARED, ['parallel_tool_calls']],
  ['an effort', 'chat', { reasoning_effort: 'medium' }, thinking({ thinkingLevel: 'MEDIUM', includeThoughts: true })],
  [
    'an effort for a model with budgets',
    'chat',
    { reasoning_effort: 'high' },
    thinking({ thinkingBudget: 24_576, includeThoughts: true }),
    [],
    OF_2_5,
  ],
  ['no thinking', 'chat', { reasoning_effort: 'none' }, thinking({ thinkingBudget: 0 }), [], OF_2_5],
  [
    'no thinking of a model that cannot help it',
    'chat',
    { reasoning_effort: 'none' },
    thinking({ thinkingBudget: 128 }),
    ['reasoning_effort'],
    PRO_2_5,
  ],
  [
    'no thinking of a model with levels',
    'messages',
    { thinking: { type: 'disabled' } },
    { generationConfig: { maxOutputTokens: 100, thinkingConfig: { thinkingLevel: 'LOW' } } },
    ['thinking'],
    PRO_3,
  ],
  [
    'a budget',
    'chat',
    { thinking: { type: 'enabled', budget_tokens: 2_000 } },
    thinking({ thinkingBudget: 2_000, includeThoughts: true }),
  ],
  [
    'no larger budget than its model takes',
    'chat',
    { thinking: { type: 'enabled', budget_tokens: 60_000 } },
    thinking({ thinkingBudget: 24_576, includeThoughts: true }),
    [],
    OF_2_5,
  ],
  [
    'no smaller budget than its model takes',
    'chat',
    { thinking: { type: 'enabled', budget_tokens: 1 } },
    thinking({ thinkingBudget: 128, includeThoughts: true }),
    [],
    PRO_2_5,
  ],
  ...(
    [
      ['gemini-3.6-flash', 'MINIMAL'],
      ['gemini-3.5-flash-lite', 'MINIMAL'],
      ['gemini-3-flash-preview', 'MINIMAL'],
      ['gemini-3.8-flash', 'LOW'],
      ['gemini-4-argon', 'LOW'],
    ] as const
  ).map(
    ([upstream, thinkingLevel]) =>
      [
        `the least effort that ${upstream} takes`,
        'chat',
        { reasoning_effort: 'minimal' },
        thinking({ thinkingLevel, includeThoughts: true }),
        [],
        { ...PRO_3, upstream },
      ] as const,
  ),
  ['a summary', 'responses', { reasoning: { summary: 'auto' } }, thinking({ includeThoughts: true })],
  ['a tier', 'chat', { service_tier: 'flex' }, { serviceTier: 'flex' }],
  [
    'notes and hints',
    'chat',
    { user: 'u', metadata: { a: 'b' }, verbosity: 'low', seed: 5 },
    {},
    ['seed', 'metadata', 'verbosity', 'user'],
  ],
];

describe('a host is told', () => {
  for (const [what, from, request, sent, ignored = [], terms = {}] of ROWS) {
    test(`${what}, by ${from}`, () => {
      const result = translated(from, 'gemini', request, terms);
      for (const [name, value] of Object.entries(sent)) assert.deepEqual(result.fields[name], value);
      assert.deepEqual(result.ignored, ignored);
    });
  }
});

describe('a host cannot be told', () => {
  for (const [what, from, request, field] of [
    ['probabilities', 'chat', { logprobs: true }, 'logprobs'],
    [
      'a film for an image',
      'chat',
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://youtu.be/a.png' } }] }] },
      'messages[0].content[0].image_url.url',
    ],
    ['many stops', 'messages', { stop_sequences: ['1', '2', '3', '4', '5', '6'] }, 'stop_sequences'],
    ['an effort that nobody knows', 'chat', { reasoning_effort: 'extreme' }, 'reasoning_effort'],
    ['a tier that it has not', 'chat', { service_tier: 'scale' }, 'service_tier'],
    ['several answers', 'chat', { n: 2 }, 'n'],
    ['an output without a call', 'chat', { messages: [{ role: 'tool', tool_call_id: 'c', content: 'x' }] }, 'messages'],
  ] as const) {
    test(what, () =>
      assert.ok(problemOf(from, 'gemini', request).startsWith(`${field}:`), problemOf(from, 'gemini', request)),
    );
  }
});

const USER = { role: 'user', content: 'Hi' };
const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
const SIGNED = { type: 'thinking', thinking: '', signature: 'google.sig' };

describe('a conversation with calls', () => {
  const outputs = [
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    {
      role: 'tool',
      tool_call_id: 'c2',
      content: [
        { type: 'text', text: 'two' },
        { type: 'image_url', image_url: { url: PNG } },
      ],
    },
  ];
  const contents = (signature: string | undefined) => [
    { role: 'user', parts: [{ text: 'Hi' }] },
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'c1', name: 'f', args: { a: 1 } }, ...(signature && { thoughtSignature: signature }) },
        { functionCall: { id: 'c2', name: 'f', args: { a: 1 } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'c1', name: 'f', response: { output: 'one' } } },
        { functionResponse: { id: 'c2', name: 'f', response: { output: 'two' } } },
        { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
      ],
    },
  ];
  const said = (fields: Fields) => ({
    messages: [USER, { role: 'assistant', content: null, tool_calls: [call('c1'), call('c2')], ...fields }, ...outputs],
  });

  test('has the signature that its host has given with the call', () => {
    const { fields, ignored } = translated('chat', 'gemini', said({ thinking_blocks: [SIGNED] }));
    assert.deepEqual([fields.contents, ignored], [contents('sig'), []]);
  });

  test('has what stands for one where the client gives none, and for models that check them', () => {
    assert.deepEqual(
      translated('chat', 'gemini', said({})).fields.contents,
      contents('skip_thought_signature_validator'),
    );
    assert.deepEqual(translated('chat', 'gemini', said({}), OF_2_5).fields.contents, contents(undefined));
  });
});

describe('a signature comes back in the next turn', () => {
  const answer = {
    candidates: [
      {
        content: { role: 'model', parts: [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'c2ln' }] },
        finishReason: 'STOP',
      },
    ],
    responseId: 'r1',
  };
  const [firstPart] = answer.candidates[0]?.content.parts ?? [];

  test('by way of a client of chat completions', () => {
    const { response } = translated('chat', 'gemini', TOOLS);
    const { choices } = response.answer(answer, CONTEXT) as { choices: { message: Fields }[] };
    const message = choices[0]?.message as Fields;
    const [{ id }] = message.tool_calls as [{ id: string }];
    assert.equal(id, 'call_r1_0');
    const messages = [USER, message, { role: 'tool', tool_call_id: id, content: 'x' }];
    const { fields, ignored } = translated('chat', 'gemini', { ...TOOLS, messages });
    const [, said] = fields.contents as [Fields, { parts: Fields[] }];
    assert.deepEqual(said.parts, [{ functionCall: { id, ...firstPart?.functionCall }, thoughtSignature: 'c2ln' }]);
    assert.deepEqual(ignored, []);
  });

  test('by way of a client of responses', () => {
    const asking = {
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' } }],
      include: ['reasoning.encrypted_content'],
    };
    const { response } = translated('responses', 'gemini', asking);
    const { output } = response.answer(answer, CONTEXT) as { output: Fields[] };
    const result = { type: 'function_call_output', call_id: 'call_r1_0', output: 'x' };
    const input = [{ role: 'user', content: 'Hi' }, ...output, result];
    const [, said] = translated('responses', 'gemini', { ...asking, input }).fields.contents as [
      Fields,
      { parts: Fields[] },
    ];
    assert.equal(said.parts[0]?.thoughtSignature, 'c2ln');
  });
});
