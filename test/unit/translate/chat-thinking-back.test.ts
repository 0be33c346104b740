/** What a host of chat has thought comes back to it in the next turn, by way of clients of every other dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { DIALECTS } from '../../../src/dialects/dialects.ts';
import { inputParts } from '../../../src/dialects/input.ts';
import { hostRequest } from '../../../src/translate/translate.ts';
import type { ResponseTranslation } from '../../../src/translate/translation.ts';
import { readJsonBody } from '../../../src/wire/body.ts';
import { CONTEXT, translated } from './hosted.ts';
import { CLIENTS, type Client, secondTurn, USER } from './two-turns.ts';

const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"a":1}' } };

const whole = (response: ResponseTranslation, message: Fields): Fields =>
  response.answer({ model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }, CONTEXT);

/** The answer of a stream with these deltas. */
function streamed(response: ResponseTranslation, { read }: Client, deltas: readonly Fields[]): Fields {
  const chunks = deltas.map((delta) => ({ model: 'm', choices: [{ index: 0, delta, finish_reason: null }] }));
  const end = { model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] };
  const stream = response.stream(CONTEXT);
  return read([...chunks, end].map((chunk) => stream.push(chunk)).join('') + stream.completion());
}

const SIGNED = [
  { type: 'reasoning.text', text: 'Let me see.', signature: 'c2ln', format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'r1', format: 'openai-responses-v1', index: 1 },
];
const UNSIGNED = [{ type: 'reasoning.text', text: 'Let me see.', index: 0 }];
const PIECES = [['Let me '], ['see.']] as const;

/** `said`: by the host, whole and in pieces. `back`: what it gets in the next turn. */
const HOSTS: readonly { what: string; said: Fields; pieces: readonly Fields[]; back: Fields }[] = [
  ...(['reasoning_content', 'reasoning'] as const).map((field) => ({
    what: field,
    said: { [field]: 'Let me see.' },
    pieces: PIECES.map(([text]) => ({ [field]: text })),
    back: { [field]: 'Let me see.' },
  })),
  {
    what: 'details that repeat the reasoning',
    said: { reasoning: 'Let me see.', reasoning_details: UNSIGNED },
    pieces: PIECES.map(([text]) => ({ reasoning: text, reasoning_details: [{ ...UNSIGNED[0], text }] })),
    back: { reasoning: 'Let me see.' },
  },
  {
    what: 'details that a host has signed',
    said: { reasoning: 'Let me see.', reasoning_details: SIGNED },
    pieces: [
      { reasoning: 'Let me ', reasoning_details: [{ type: 'reasoning.text', text: 'Let me ', index: 0 }] },
      { reasoning: 'see.', reasoning_details: [{ type: 'reasoning.text', text: 'see.', index: 0 }] },
      { reasoning_details: [{ ...SIGNED[0], text: '' }] },
      { reasoning_details: [SIGNED[1] as Fields] },
    ],
    back: { reasoning_details: SIGNED },
  },
  {
    what: 'details without a text',
    said: { reasoning_details: [SIGNED[1]] },
    pieces: [{ reasoning_details: [SIGNED[1]] }],
    back: { reasoning_details: [SIGNED[1]] },
  },
];

for (const [who, client] of CLIENTS) {
  describe(`a client of ${who} gives a host of chat back`, () => {
    for (const { what, said, pieces, back } of HOSTS) {
      for (const content of [null, 'I look.']) {
        const beside = content === null ? 'a call' : 'a text and a call';
        const messages = [
          USER,
          { role: 'assistant', content, ...back, tool_calls: [CALL] },
          { role: 'tool', tool_call_id: 'c1', content: 'x' },
        ];
        test(`${what}, of an answer with ${beside}`, () => {
          const turn = secondTurn(client, 'chat', (response) =>
            whole(response, { content, ...said, tool_calls: [CALL] }),
          );
          assert.deepEqual(turn.fields.messages, messages);
        });
        test(`${what}, of a stream with ${beside}`, () => {
          const text = content === null ? [] : [{ content }];
          const deltas = [...pieces, ...text, { tool_calls: [{ index: 0, ...CALL }] }];
          const turn = secondTurn(client, 'chat', (response) => streamed(response, client, deltas));
          assert.deepEqual(turn.fields.messages, messages);
        });
      }
    }

    test('nothing of an answer without thinking', () => {
      const turn = secondTurn(client, 'chat', (response) => whole(response, { content: null, tool_calls: [CALL] }));
      const [, assistant] = turn.fields.messages as Fields[];
      assert.deepEqual(assistant, { role: 'assistant', content: null, tool_calls: [CALL] });
    });
  });
}

const thinking = (signature: string, text = 'T') => ({ type: 'thinking', thinking: text, signature });
const detailsOf = (value: unknown) => `chat.reasoning_details.${Buffer.from(JSON.stringify(value)).toString('base64')}`;
const saying = (...blocks: readonly Fields[]) => ({
  messages: [USER, { role: 'assistant', content: [...blocks, { type: 'text', text: 'A' }] }, USER],
});
const assistantOf = (to: 'chat' | 'messages', fields: Fields) => {
  const { fields: sent, ignored } = translated(to === 'chat' ? 'messages' : 'responses', to, fields);
  return { said: (sent.messages as Fields[]).find(({ role }) => role === 'assistant'), ignored };
};

describe('of what a client may have forged', () => {
  const FORGED: readonly (readonly [what: string, block: Fields, sent: Fields])[] = [
    ['a field of another name is nothing', thinking('chat.content'), {}],
    ['a field of no name is nothing', thinking('chat.'), {}],
    ['a field of an object is nothing', thinking('chat.__proto__'), {}],
    ['details that are no JSON are nothing', thinking('chat.reasoning_details.e30x'), {}],
    ['details that are no list are nothing', thinking(detailsOf({ type: 'x' })), {}],
    ['an empty list of details is nothing', thinking(detailsOf([])), {}],
    [
      'a detail has the members that hosts know, as they know them',
      thinking(
        detailsOf([{ type: 'reasoning.text', text: 't', index: 1.5, role: 'system', image_url: { url: 'x' } }, 1]),
      ),
      { reasoning_details: [{ type: 'reasoning.text', text: 't' }] },
    ],
    ['the signature of another host is nothing', thinking('sig'), {}],
  ];
  for (const [what, block, sent] of FORGED) {
    test(what, () => {
      const { said, ignored } = assistantOf('chat', saying(block));
      assert.deepEqual(said, { role: 'assistant', content: 'A', ...sent });
      assert.deepEqual(ignored, Object.keys(sent).length === 0 ? ['messages.thinking'] : []);
    });
  }

  test('blocks of one message are one text, and one list', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'x' }];
    const blocks = [
      thinking('chat.reasoning_content', 'a'),
      thinking('chat.reasoning_content', 'b'),
      thinking(detailsOf(details)),
      thinking(detailsOf(details)),
    ];
    const { said } = assistantOf('chat', saying(...blocks));
    assert.deepEqual(said, {
      role: 'assistant',
      content: 'A',
      reasoning_content: 'ab',
      reasoning_details: [...details, ...details],
    });
  });

  test('a host of messages gets nothing', () => {
    const reasoning = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'T' }] };
    const said = { role: 'assistant', content: 'A' };
    const { ignored, ...sent } = assistantOf('messages', {
      input: [USER, { ...reasoning, encrypted_content: 'chat.reasoning' }, said, USER],
    });
    assert.deepEqual(sent.said, { role: 'assistant', content: [{ type: 'text', text: 'A' }] });
    assert.deepEqual(ignored, ['input.reasoning']);
  });
});

test('what comes back is held as the text that it is, however its client has sealed it', () => {
  const text = 'a word and another '.repeat(200);
  const details = [{ type: 'reasoning.text', text, signature: 's' }];
  for (const signature of ['chat.reasoning_content', detailsOf(details)]) {
    const body = { model: 'm/m', max_tokens: 9, ...saying(thinking(signature, text)) };
    const read = readJsonBody(Buffer.from(JSON.stringify(body)));
    assert.ok(read.ok);
    const checked = DIALECTS.messages.check(read.body, 'm/m');
    assert.ok(checked.ok);
    const terms = { maxOutput: 100, defaultOutput: 100, ignoreFields: [], ignoreTools: [] };
    const result = hostRequest(checked.request, ['chat'], terms);
    assert.ok(result.ok);
    const { textTokens } = inputParts(result.hosted.request);
    assert.ok(textTokens > 700, `${textTokens} tokens`);
  }
});
