/** The mock's response in a neutral form, from which each dialect writes its own. */
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { namedEvent } from '../../wire/sse.ts';
import type { MockTool, Reading } from './reading.ts';

/** Values that differ between responses. */
export interface MockContext {
  /** Response id, such as `chatcmpl-1`. */
  readonly id: string;
  readonly createdS: number;
}

export interface Answer {
  readonly request: ModelRequest;
  readonly context: MockContext;
  /** In order. Only a call may be empty. */
  readonly parts: readonly Part[];
  /** `length`: cut at the output limit. */
  readonly ending: 'stop' | 'length' | 'call';
  readonly usage: MockUsage | undefined;
}

/** A part of a response, split into the pieces of its stream. Each piece counts as one token. */
export type Part =
  | { readonly kind: 'thinking'; readonly pieces: readonly string[] }
  | { readonly kind: 'text'; readonly pieces: readonly string[] }
  | { readonly kind: 'call'; readonly tool: MockTool; readonly pieces: readonly string[] };

/** Usage in tokens. */
export interface MockUsage {
  /** Total input, including the two cache figures. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Total output of all choices. */
  readonly output: number;
  /** Reasoning share of the output. */
  readonly reasoning: number;
}

/** Reads requests and writes responses of one dialect. */
export interface MockDialect {
  /** Prefix of response ids. */
  readonly idPrefix: string;
  read(fields: Fields): Reading;
  /** Returns the body of an error response. */
  errorBody(status: number, message: string, context: MockContext): string;
  /** Returns the body of a response without streaming. */
  wholeBody(answer: Answer): string | Buffer;
  /** Content type without streaming; undefined for JSON. */
  readonly contentType?: string;
  /** Undefined for dialects without text output. */
  readonly startStream: ((answer: Answer) => StreamWriter) | undefined;
}

/** Writes the events of one stream. Results may be empty. */
export interface StreamWriter {
  start(): string;
  open(part: Part): string;
  piece(part: Part, text: string): string;
  close(part: Part): string;
  /** Called after the last part. */
  end(): string;
  /** Called instead of all remaining calls. */
  failure(message: string): string;
}

/** A stream of media. Its words are not sent; they only time, cut or stop it. */
export function mediaStream(end: () => string): StreamWriter {
  const nothing = () => '';
  const failure = (message: string) => typedEvent({ type: 'error', error: { message, type: 'mock_error' } });
  return { start: nothing, open: nothing, piece: nothing, close: nothing, end, failure };
}

/** Returns the complete text of one kind. */
export function textOf(answer: Answer, kind: 'thinking' | 'text'): string {
  return answer.parts.flatMap((part) => (part.kind === kind ? part.pieces : [])).join('');
}

/** Returns the error body of OpenAI's dialects. */
export function errorJson(status: number, message: string): string {
  return JSON.stringify({ error: { message, type: 'mock_error', param: null, code: status } });
}

/** Writes an event named by its type. */
export function typedEvent(data: Fields & { readonly type: string }): string {
  return namedEvent(data.type, JSON.stringify(data));
}
