/** Content, tools and calls for tests of the translation from messages to chat. */
import type { Fields } from '../../../src/dialects/dialect.ts';
import { HELLO } from './messages-chat-support.ts';

export const PIXEL = { type: 'base64', media_type: 'image/png', data: 'iVBO' };
export const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBE' };
export const PIXEL_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } };
export const PDF_PART = {
  type: 'file',
  file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBE' },
};
export const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
export const TOOL = { name: 'weather', description: 'Looks up.', input_schema: SCHEMA };
export const FUNCTION = {
  type: 'function',
  function: { name: 'weather', description: 'Looks up.', parameters: SCHEMA },
};
export const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 3 };
export const CALL = { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Bonn' } };
export const CALL_IN_CHAT = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: '{"city":"Bonn"}' },
};
export const SEE_NEXT = 'The attachments of this result are in the next user message.';

export function text(value: string): Fields {
  return { type: 'text', text: value };
}

export function result(content?: unknown, others: Fields = {}): Fields {
  return { type: 'tool_result', tool_use_id: 'call_1', ...(content !== undefined && { content }), ...others };
}

export function user(...content: readonly unknown[]): Fields {
  return { role: 'user', content };
}

export function assistant(...content: readonly unknown[]): Fields {
  return { role: 'assistant', content };
}

export const CALLED: readonly Fields[] = [HELLO, assistant(CALL)];
export const CALLED_IN_CHAT: readonly Fields[] = [
  HELLO,
  { role: 'assistant', content: null, tool_calls: [CALL_IN_CHAT] },
];
