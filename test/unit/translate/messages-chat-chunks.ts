/** Chunks of hosts, and the streamed messages that they become. */
import type { Fields } from '../../../src/dialects/dialect.ts';
import { CONTEXT } from './hosted.ts';
import { responseTo } from './messages-chat-support.ts';

export function chunk(delta: Fields, others: Fields = {}): Fields {
  const { usage, ...choice } = others;
  const choices = [{ index: 0, delta, finish_reason: null, ...choice }];
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt', choices, usage: usage ?? null };
}

export function piece(index: number, args: string, start: Fields = {}): Fields {
  const { id, name } = start;
  return {
    index,
    ...(id !== undefined && { id, type: 'function' }),
    function: { ...(name !== undefined && { name }), arguments: args },
  };
}

export function callChunk(index: number, args: string, start?: Fields): Fields {
  return chunk({ tool_calls: [piece(index, args, start)] });
}

export const FIRST = { id: 'call_1', name: 'first' };
export const SECOND = { id: 'call_2', name: 'second' };
export const START = chunk({ role: 'assistant', content: '' });
export const USAGE = { prompt_tokens: 100, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 60 } };
export const USAGE_CHUNK = { id: 'chatcmpl-1', model: 'gpt', choices: [], usage: USAGE };

export function finish(reason: string, others: Fields = {}): Fields {
  return chunk({}, { finish_reason: reason, ...others });
}

export function streamOf(chunks: readonly Fields[], request?: Fields): string {
  const stream = responseTo(request).stream(CONTEXT);
  return chunks.map((each) => stream.push(each)).join('') + stream.completion();
}
