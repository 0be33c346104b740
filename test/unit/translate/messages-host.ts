/** What hosts of the messages dialect answer and stream. */
import type { Fields } from '../../../src/dialects/dialect.ts';

export const THINKING = { type: 'thinking', thinking: 'Hm.', signature: 'sig' };

/** A whole answer of a host. */
export function answerOf(fields: Fields): Fields {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: 'end_turn',
    ...fields,
  };
}

export const start = (fields: Fields = {}) => ({
  type: 'message_start',
  message: answerOf({ stop_reason: null, ...fields }),
});
export const blockStart = (index: number, block: Fields) => ({
  type: 'content_block_start',
  index,
  content_block: block,
});
export const delta = (index: number, fields: Fields) => ({ type: 'content_block_delta', index, delta: fields });
export const stop = (index: number) => ({ type: 'content_block_stop', index });
export const end = (reason: string, usage?: Fields, more: Fields = {}) => ({
  type: 'message_delta',
  delta: { stop_reason: reason, ...more },
  usage,
});
export const PING = { type: 'ping' };
export const MESSAGE_STOP = { type: 'message_stop' };
export const toolUse = (id: string, name: string, input: Fields = {}) => ({ type: 'tool_use', id, name, input });
export const json = (text: string) => ({ type: 'input_json_delta', partial_json: text });
