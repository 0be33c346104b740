/** Answers in the chat-completions format, for scripts of the fake upstream. */
import type { Script } from './fake-upstream.ts';

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
export const DONE = 'data: [DONE]\n\n';

/** A completion with this content. */
export function completion(content: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' };
  return { id: 'chatcmpl-1', object: 'chat.completion', choices: [choice], usage: USAGE, ...fields };
}

/** A server-sent event with one line of data. */
export function event(value: unknown): string {
  return `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
}

/** The event of a chunk with this content, which ends its choice if a reason is given. */
export function chunk(
  content: string,
  finishReason: string | null = null,
  fields: Record<string, unknown> = {},
): string {
  const choice = { index: 0, delta: { content }, finish_reason: finishReason };
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [choice], ...fields });
}

/** The event with only the usage at the end of a stream. */
export function usageChunk(usage: unknown = USAGE): string {
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [], usage });
}

/** Answers with a complete body. */
export function answering(body: unknown, status = 200, headers: Record<string, string> = {}): Script {
  return (call) => call.answer(status, body, headers);
}

/** Answers with a stream of these chunks that ends properly. */
export function streaming(...pieces: readonly (string | Buffer)[]): Script {
  return (call) => {
    call.stream();
    for (const piece of pieces) call.send(piece);
    call.end();
  };
}
