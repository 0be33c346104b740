/** Requests of Google's dialect at hosts of others: what they are told, what is left out, and what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { problemOf, type Told, translated } from './hosted.ts';

const config = (fields: Fields) => ({ generationConfig: fields });
const declared = (fields: Fields) => ({ tools: [{ functionDeclarations: [{ name: 'f', ...fields }] }] });
const calling = (fields: Fields) => ({
  tools: [{ functionDeclarations: [{ name: 'f' }, { name: 'g' }] }],
  toolConfig: { functionCallingConfig: fields },
});
const said = (...parts: readonly Fields[]) => ({ contents: [{ role: 'user', parts }] });
const tool = (fields: Fields) => [{ type: 'function', function: { name: 'f', ...fields } }];
const [f, g] = ['f', 'g'].map((name) => ({ type: 'function', function: { name } }));

const ROWS: readonly Told[] = [
  ['a prompt', 'chat', {}, { messages: [{ role: 'user', content: 'Hi' }] }],
  [
    'a prompt without lists',
    'chat',
    { contents: { parts: { text: 'Hi' } } },
    { messages: [{ role: 'user', content: 'Hi' }] },
  ],
  [
    'instructions',
    'messages',
    { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
    { system: [{ type: 'text', text: 'Be brief.' }], max_tokens: 8_000 },
  ],
  [
    'an image',
    'chat',
    said({ text: 'a' }, { inlineData: { mimeType: 'image/PNG', data: 'aGk=' } }),
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
          ],
        },
      ],
    },
  ],
  [
    'a document',
    'messages',
    said({ inlineData: { mimeType: 'application/pdf', data: 'JVBERi0=' } }),
    {
      messages: [
        {
          role: 'user',
          content: [
            {
              type: 'document',
              title: 'document.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
            },
          ],
        },
      ],
    },
  ],
  ['a maximum', 'chat', config({ maxOutputTokens: 70 }), { max_tokens: 70 }],
  ['a maximum beyond the model', 'messages', config({ maxOutputTokens: 65_536 }), { max_tokens: 8_000 }],
  [
    'how to sample',
    'messages',
    config({ temperature: 0.5, topP: 0.5, topK: 64, stopSequences: ['a'] }),
    { temperature: 0.5, top_p: 0.5, top_k: 64, stop_sequences: ['a'] },
  ],
  [
    'how to sample without candidates to choose from',
    'chat',
    config({ temperature: 0.5, topK: 64 }),
    { temperature: 0.5 },
    ['generationConfig.topK'],
  ],
  [
    'a JSON object',
    'chat',
    config({ responseMimeType: 'application/json' }),
    { response_format: { type: 'json_object' } },
  ],
  [
    "a schema in Google's form",
    'chat',
    config({
      responseMimeType: 'application/json',
      responseSchema: {
        type: 'OBJECT',
        properties: { a_b: { type: 'STRING', nullable: true, max_length: '9' }, c: { anyOf: [{ type: 'INTEGER' }] } },
        propertyOrdering: ['c', 'a_b'],
      },
    }),
    {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'answer',
          schema: {
            type: 'object',
            properties: { a_b: { type: ['string', 'null'], maxLength: 9 }, c: { anyOf: [{ type: 'integer' }] } },
          },
        },
      },
    },
  ],
  [
    "a tool in Google's form",
    'chat',
    declared({ description: 'F.', parameters: { type: 'ARRAY', items: { type: 'NUMBER' } } }),
    { tools: tool({ description: 'F.', parameters: { type: 'array', items: { type: 'number' } } }) },
  ],
  [
    'a tool with a JSON schema',
    'chat',
    declared({ parametersJsonSchema: { type: 'object' } }),
    { tools: tool({ parameters: { type: 'object' } }) },
  ],
  ['no tool to be called', 'chat', calling({ mode: 'NONE' }), { tools: [f, g], tool_choice: 'none' }],
  ['any tool to be called', 'chat', calling({ mode: 'ANY' }), { tools: [f, g], tool_choice: 'required' }],
  [
    'one tool to be called',
    'chat',
    calling({ mode: 'ANY', allowedFunctionNames: ['g'] }),
    { tools: [g], tool_choice: { type: 'function', function: { name: 'g' } } },
  ],
  [
    'which tools may be called',
    'chat',
    calling({ mode: 'AUTO', allowedFunctionNames: ['f'] }),
    { tools: [f], tool_choice: 'auto' },
  ],
  ['a level of thinking', 'chat', config({ thinkingConfig: { thinkingLevel: 'LOW' } }), { reasoning_effort: 'low' }],
  [
    'a budget of thinking',
    'messages',
    config({ thinkingConfig: { thinkingBudget: 8_192, includeThoughts: true } }),
    { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'medium' } },
  ],
  [
    'a temperature beside thinking',
    'messages',
    config({ temperature: 0.5, topP: 0.5, thinkingConfig: { thinkingBudget: 8_192 } }),
    { temperature: undefined, top_p: undefined },
    ['generationConfig.temperature', 'generationConfig.topP'],
  ],
  ['thinking as the model likes', 'chat', config({ thinkingConfig: { thinkingBudget: -1 } }), {}],
  ['no thinking', 'chat', config({ thinkingConfig: { thinkingBudget: 0 } }), {}, ['generationConfig.thinkingConfig']],
  [
    'hints and filters',
    'chat',
    {
      safetySettings: [{ category: 'a' }],
      labels: { a: 'b' },
      ...config({ seed: 5, mediaResolution: 'MEDIA_RESOLUTION_LOW' }),
    },
    {},
    ['safetySettings', 'labels', 'generationConfig.seed', 'generationConfig.mediaResolution'],
  ],
  [
    'tools of its host that the config leaves out',
    'chat',
    { tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: 'f' }] }] },
    { tools: [f] },
    ['tools.google_search'],
    { ignoreTools: ['google_search'] },
  ],
];

describe('a host is told', () => {
  for (const [what, to, request, sent, ignored = [], terms = {}] of ROWS) {
    test(`${what}, in ${to}`, () => {
      const result = translated('gemini', to, request, terms);
      for (const [name, value] of Object.entries(sent)) assert.deepEqual(result.fields[name], value);
      if (Object.keys(sent).length === 0)
        assert.deepEqual(Object.keys(result.fields).toSorted(), ['messages', 'model']);
      assert.deepEqual(result.ignored, ignored);
    });
  }
});

describe('a host cannot be told', () => {
  for (const [what, request, field] of [
    ['several answers', config({ candidateCount: 2 }), 'generationConfig.candidateCount'],
    ['to speak', config({ responseModalities: ['AUDIO'] }), 'generationConfig.responseModalities'],
    ['probabilities', config({ responseLogprobs: true }), 'generationConfig.responseLogprobs'],
    ['a field that nobody knows', config({ more: 1 }), 'generationConfig.more'],
    ['a type of answers', config({ responseMimeType: 'text/x.enum' }), 'generationConfig.responseMimeType'],
    [
      'a sound',
      said({ inlineData: { mimeType: 'audio/wav', data: 'aGk=' } }),
      'contents[0].parts[0].inlineData.mimeType',
    ],
    [
      'a film',
      said({ fileData: { mimeType: 'video/mp4', fileUri: 'https://a.example/b' } }),
      'contents[0].parts[0].fileData',
    ],
    [
      'where a film begins',
      said({ text: 'a', videoMetadata: { startOffset: '1s' } }),
      'contents[0].parts[0].videoMetadata',
    ],
    ['a search', { tools: [{ googleSearch: {} }] }, 'tools[0].googleSearch'],
    [
      'a response without a call',
      said({ functionResponse: { name: 'f', response: {} } }),
      'contents[0].parts[0].functionResponse.name',
    ],
    [
      'code that its host has run',
      { contents: [{ role: 'model', parts: [{ executableCode: { code: '1' } }] }] },
      'contents[0].parts[0].executableCode',
    ],
  ] as const) {
    test(what, () =>
      assert.ok(problemOf('gemini', 'chat', request).startsWith(`${field}:`), problemOf('gemini', 'chat', request)),
    );
  }

  test('a temperature that hosts of messages do not take', () => {
    const problem = problemOf('gemini', 'messages', config({ temperature: 1.5 }));
    assert.match(problem, /^generationConfig\.temperature: expected at most 1/);
  });
});

describe('a conversation with calls', () => {
  const call = (fields: Fields = {}) => ({ functionCall: { name: 'f', args: { a: 1 }, ...fields } });
  const response = (output: string, fields: Fields = {}) => ({
    functionResponse: { name: 'f', response: { output }, ...fields },
  });

  test('has each response with its call, by ids or in order', () => {
    const contents = [
      { role: 'user', parts: [{ text: 'Hi' }] },
      { role: 'model', parts: [{ text: 'So.' }, call(), call({ id: 'x' }), call()] },
      { role: 'user', parts: [response('2', { id: 'x' }), response('1'), response('3'), { text: 'Go on.' }] },
    ];
    const { fields } = translated('gemini', 'chat', { contents });
    const made = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{"a":1}' } });
    assert.deepEqual(fields.messages, [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'So.', tool_calls: [made('call_0'), made('x'), made('call_2')] },
      { role: 'tool', tool_call_id: 'x', content: '2' },
      { role: 'tool', tool_call_id: 'call_0', content: '1' },
      { role: 'tool', tool_call_id: 'call_2', content: '3' },
      { role: 'user', content: 'Go on.' },
    ]);
  });
});
