/** What the mock provider answers, before a dialect gives it its form. */
import type { Fields, ModelRequest } from '../../dialects/dialect.ts';
import { namedEvent } from '../../wire/sse.ts';
import type { MockTool, Reading } from './reading.ts';

/** What differs from one response to the next. */
export interface MockContext {
  /** Of the response, such as `chatcmpl-1`. */
  readonly id: string;
  readonly createdS: number;
}

export interface Answer {
  readonly request: ModelRequest;
  readonly context: MockContext;
  /** In order. Only a call may be empty. */
  readonly parts: readonly Part[];
  /** `length`: cut at the maximum of output. */
  readonly ending: 'stop' | 'length' | 'call';
  readonly usage: MockUsage | undefined;
}

/** One part of an answer, in the pieces in which it is streamed. A piece counts as one token. */
export type Part =
  | { readonly kind: 'thinking'; readonly pieces: readonly string[] }
  | { readonly kind: 'text'; readonly pieces: readonly string[] }
  | { readonly kind: 'call'; readonly tool: MockTool; readonly pieces: readonly string[] };

/** In tokens. */
export interface MockUsage {
  /** All input. The following two are parts of it. */
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** All output of all choices. */
  readonly output: number;
  /** The part of the output that is reasoning. */
  readonly reasoning: number;
}

/** The form of requests and answers in one dialect. */
export interface MockDialect {
  /** How the ids of its answers begin. */
  readonly idPrefix: string;
  read(fields: Fields): Reading;
  /** The body of an error response. */
  errorBody(status: number, message: string, context: MockContext): string;
  /** The body of a whole answer. */
  wholeBody(answer: Answer): string | Buffer;
  /** Of whole answers; undefined for JSON. */
  readonly contentType?: string;
  /** Undefined if its answers are no text. */
  readonly startStream: ((answer: Answer) => StreamWriter) | undefined;
}

/** Writes the events of one stream. What it returns may be empty. */
export interface StreamWriter {
  start(): string;
  open(part: Part): string;
  piece(part: Part, text: string): string;
  close(part: Part): string;
  /** After the last part. */
  end(): string;
  /** Instead of everything that has not been written. */
  failure(message: string): string;
}

/** A stream of media. The words that others write only pace, cut or stop it. */
export function mediaStream(end: () => string): StreamWriter {
  const nothing = () => '';
  const failure = (message: string) => typedEvent({ type: 'error', error: { message, type: 'mock_error' } });
  return { start: nothing, open: nothing, piece: nothing, close: nothing, end, failure };
}

/** The whole text of one kind in an answer. */
export function textOf(answer: Answer, kind: 'thinking' | 'text'): string {
  return answer.parts.flatMap((part) => (part.kind === kind ? part.pieces : [])).join('');
}

/** The error body of OpenAI's dialects. */
export function errorJson(status: number, message: string): string {
  return JSON.stringify({ error: { message, type: 'mock_error', param: null, code: status } });
}

/** An event with its type as its name. */
export function typedEvent(data: Fields & { readonly type: string }): string {
  return namedEvent(data.type, JSON.stringify(data));
}
