/** What hosts that sign their thinking have thought comes back to them as it was, by way of clients of every other dialect. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DialectName } from '../../../src/core/dialects.ts';
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT } from './hosted.ts';
import { CHAT_CLIENT, CLIENTS, secondTurn } from './two-turns.ts';

/** What a host says, whole and in pieces, and what of its second turn the model has written. */
interface Host {
  readonly to: DialectName;
  readonly what: string;
  readonly whole: Fields;
  readonly events: readonly Fields[];
  readonly written: (fields: Fields) => unknown;
  readonly back: unknown;
  /** The same of a client that is not to see it: a signature holds what it signs. */
  readonly unseen?: unknown;
  /** The same of a client of chat, which has no place for thinking between texts. */
  readonly viaChat?: unknown;
}

const THINKING = { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' };
const REDACTED = { type: 'redacted_thinking', data: 'b3BhcXVl' };
const TOOL_USE = { type: 'tool_use', id: 'c1', name: 'look', input: { a: 1 } };
const MESSAGE = { type: 'message', id: 'msg_1', role: 'assistant', model: 'm' };

/** The events of a message with these blocks, each of which is written in the deltas beside it. */
function messageEvents(...blocks: readonly (readonly [start: Fields, ...deltas: Fields[]])[]): readonly Fields[] {
  return [
    { type: 'message_start', message: { ...MESSAGE, content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
    ...blocks.flatMap(([block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ];
}

const FUNCTION_CALL = { id: 'c1', name: 'look', args: { a: 1 } };
const candidate = (parts: readonly Fields[], end: Fields = {}) => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...end }],
});
const STOP = { finishReason: 'STOP' };

const REASONING = { reasoningContent: { reasoningText: { text: 'Let me see.', signature: 'c2ln' } } };
const SEALED = { reasoningContent: { redactedContent: 'b3BhcXVl' } };
const REASONING_2 = { reasoningContent: { reasoningText: { text: 'So.', signature: 'c2lnMg==' } } };
const unseenIn = ({ reasoningContent: { reasoningText } }: typeof REASONING) => ({
  reasoningContent: { reasoningText: { ...reasoningText, text: '' } },
});
const TEXT = { text: 'I look.' };
const USE = { toolUse: { toolUseId: 'c1', name: 'look', input: { a: 1 } } };
const started = (contentBlockIndex: number, fields: Fields) => ({
  contentBlockStart: { contentBlockIndex, start: fields },
});
const delta = (contentBlockIndex: number, fields: Fields) => ({
  contentBlockDelta: { contentBlockIndex, delta: fields },
});
const stopped = (contentBlockIndex: number) => ({ contentBlockStop: { contentBlockIndex } });

/** What the assistant has said in the second message. */
const secondContent = ({ messages }: Fields) => (messages as Fields[])[1]?.content;

const HOSTS: readonly Host[] = [
  {
    to: 'messages',
    what: 'thinking, sealed thinking and a call',
    whole: { ...MESSAGE, content: [THINKING, REDACTED, TOOL_USE], stop_reason: 'tool_use' },
    events: messageEvents(
      [
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Let me ' },
        { type: 'thinking_delta', thinking: 'see.' },
        { type: 'signature_delta', signature: 'c2ln' },
      ],
      [REDACTED],
      [
        { ...TOOL_USE, input: {} },
        { type: 'input_json_delta', partial_json: '{"a":' },
        { type: 'input_json_delta', partial_json: '1}' },
      ],
    ),
    written: secondContent,
    back: [THINKING, REDACTED, TOOL_USE],
  },
  {
    to: 'gemini',
    what: 'a thought and a call that is signed',
    whole: candidate(
      [
        { text: 'Let me see.', thought: true },
        { functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' },
      ],
      STOP,
    ),
    events: [
      candidate([{ text: 'Let me ', thought: true }]),
      candidate([{ text: 'see.', thought: true }]),
      candidate([{ functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' }]),
      candidate([{ text: '' }], STOP),
    ],
    written: ({ contents }) => (contents as Fields[])[1]?.parts,
    back: [{ functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' }],
  },
  {
    to: 'converse',
    what: 'thinking, sealed thinking and a call',
    whole: {
      output: { message: { role: 'assistant', content: [REASONING, SEALED, USE] } },
      stopReason: 'tool_use',
    },
    events: [
      { messageStart: { role: 'assistant' } },
      delta(0, { reasoningContent: { text: 'Let me ' } }),
      delta(0, { reasoningContent: { text: 'see.' } }),
      delta(0, { reasoningContent: { signature: 'c2ln' } }),
      stopped(0),
      delta(1, SEALED),
      stopped(1),
      started(2, { toolUse: { toolUseId: 'c1', name: 'look' } }),
      delta(2, { toolUse: { input: '{"a":' } }),
      delta(2, { toolUse: { input: '1}' } }),
      stopped(2),
      { messageStop: { stopReason: 'tool_use' } },
    ],
    written: secondContent,
    back: [REASONING, SEALED, USE],
    unseen: [unseenIn(REASONING), SEALED, USE],
  },
  {
    to: 'converse',
    what: 'thinking before and behind a text',
    whole: {
      output: { message: { role: 'assistant', content: [REASONING, TEXT, REASONING_2, USE] } },
      stopReason: 'tool_use',
    },
    events: [
      { messageStart: { role: 'assistant' } },
      delta(0, { reasoningContent: { text: 'Let me see.' } }),
      delta(0, { reasoningContent: { signature: 'c2ln' } }),
      stopped(0),
      delta(1, TEXT),
      stopped(1),
      delta(2, { reasoningContent: { text: 'So.' } }),
      delta(2, { reasoningContent: { signature: 'c2lnMg==' } }),
      stopped(2),
      started(3, { toolUse: { toolUseId: 'c1', name: 'look' } }),
      delta(3, { toolUse: { input: '{"a":1}' } }),
      stopped(3),
      { messageStop: { stopReason: 'tool_use' } },
    ],
    written: secondContent,
    back: [REASONING, TEXT, REASONING_2, USE],
    unseen: [unseenIn(REASONING), TEXT, unseenIn(REASONING_2), USE],
    viaChat: [REASONING, REASONING_2, TEXT, USE],
  },
  {
    to: 'gemini',
    what: 'a text and a call that is signed',
    whole: candidate([{ text: 'I look.' }, { functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' }], STOP),
    events: [
      candidate([{ text: 'I ' }]),
      candidate([{ text: 'look.' }]),
      candidate([{ functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' }], STOP),
    ],
    written: ({ contents }) => (contents as Fields[])[1]?.parts,
    back: [{ text: 'I look.' }, { functionCall: FUNCTION_CALL, thoughtSignature: 'c2ln' }],
  },
];

for (const { to, what, whole, events, written, back, unseen = back, viaChat = back } of HOSTS) {
  describe(`a host of ${to} gets back ${what}`, () => {
    for (const [who, client] of [['chat', CHAT_CLIENT] as const, ...CLIENTS]) {
      if (client.dialect === to) continue;
      const expected = client === CHAT_CLIENT ? viaChat : who.endsWith('not to see it') ? unseen : back;
      const assertBack = ({ fields, ignored }: ReturnType<typeof secondTurn>) => {
        assert.deepEqual(written(fields), expected);
        // What it shows of a thought stands in its signature, too.
        assert.deepEqual(ignored, client.dialect === 'gemini' ? ['contents.parts.thought'] : []);
      };

      test(`by way of a client of ${who}, of an answer`, () =>
        assertBack(secondTurn(client, to, (response) => response.answer(whole, CONTEXT))));

      test(`by way of a client of ${who}, of a stream`, () =>
        assertBack(
          secondTurn(client, to, (response) => {
            const stream = response.stream(CONTEXT);
            return client.read(events.map((event) => stream.push(event)).join('') + stream.completion());
          }),
        ));
    }
  });
}
