/** What hosts of both dialects answer and stream, in tests of responses. */
import type { Fields } from '../../../src/dialects/dialect.ts';
import { blockStart, delta, stop } from './messages-host.ts';
import type { Host } from './responses-support.ts';

// Whole answers.

export const completion = (message: Fields, reason = 'stop', more: Fields = {}) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: reason }],
  ...more,
});
export const answer = (content: readonly Fields[], reason = 'end_turn', more: Fields = {}) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  content,
  stop_reason: reason,
  ...more,
});
export const toolCall = (id: string, name: string, json: unknown, more: Fields = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: json },
  ...more,
});
export const use = (id: string, name: string, input: unknown = {}) => ({ type: 'tool_use', id, name, input });

// Streams.

export const chunk = (delta: Fields, reason: string | null = null, more: Fields = {}) => ({
  id: 'chatcmpl-1',
  choices: [{ index: 0, delta, finish_reason: reason }],
  ...more,
});
export const piece = (index: number | undefined, json: string, more: Fields = {}) => ({
  tool_calls: [{ ...(index !== undefined && { index }), ...more, function: { arguments: json } }],
});
export const begin = (index: number | undefined, id: string, name: string, json = '') => ({
  tool_calls: [{ ...(index !== undefined && { index }), id, type: 'function', function: { name, arguments: json } }],
});
const START = chunk({ role: 'assistant', content: '' });
export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
export const USAGE_CHUNK = { id: 'chatcmpl-1', choices: [], usage: USAGE };

export const json = (index: number, text: string) => delta(index, { type: 'input_json_delta', partial_json: text });
export const end = (reason: string, usage: Fields = { output_tokens: 5 }) => ({
  type: 'message_delta',
  delta: { stop_reason: reason },
  usage,
});
export const MESSAGE_START = {
  type: 'message_start',
  message: { id: 'msg_1', content: [], usage: { input_tokens: 10, output_tokens: 1 } },
};

/** A stream with everything. Both hosts say the same. */
export const WHOLE: Readonly<Record<Host, readonly Fields[]>> = {
  chat: [
    START,
    chunk({ reasoning_content: 'H' }),
    chunk({ reasoning_content: 'm.' }),
    chunk({ content: 'I ' }),
    chunk({ content: 'look.' }),
    chunk(begin(0, 'c1', 'look', '{"a"')),
    chunk(piece(0, ':1}')),
    chunk(begin(1, 'c2', 'patch')),
    chunk(piece(1, '{"input":"a \\')),
    chunk(piece(1, 'n\\u00e4"}')),
    chunk(begin(2, 'c3', 'agents__spawn')),
    chunk({}, 'tool_calls'),
    USAGE_CHUNK,
  ],
  messages: [
    MESSAGE_START,
    { type: 'ping' },
    blockStart(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'H' }),
    delta(0, { type: 'thinking_delta', thinking: 'm.' }),
    delta(0, { type: 'signature_delta', signature: 'sig' }),
    stop(0),
    blockStart(1, { type: 'text', text: '' }),
    delta(1, { type: 'text_delta', text: 'I ' }),
    delta(1, { type: 'text_delta', text: 'look.' }),
    stop(1),
    blockStart(2, use('c1', 'look')),
    json(2, ''),
    json(2, '{"a"'),
    json(2, ':1}'),
    stop(2),
    blockStart(3, use('c2', 'patch')),
    json(3, '{"input":"a \\'),
    json(3, 'n\\u00e4"}'),
    stop(3),
    blockStart(4, use('c3', 'agents__spawn')),
    stop(4),
    end('tool_use'),
  ],
};
