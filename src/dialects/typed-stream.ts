/** Streams of typed events with images, audio or transcripts. */
import { errorBody } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { namedEvent, type SseEvent } from '../wire/sse.ts';
import type { AnswerFacts } from './answer.ts';
import type { Fields, Judgement, StreamReader } from './dialect.ts';
import { errorFacts } from './error-facts.ts';

export interface TypedStreamOptions {
  /** Reads the facts of an event. */
  read(event: Fields): AnswerFacts;
  /** Whether an event, already read, is the last one. */
  isLast(event: Fields): boolean;
}

/** Returns a reader for a stream whose events have a `type` and whose last event has the usage. */
export function typedStream({ read, isLast }: TypedStreamOptions): StreamReader {
  return {
    judge: ({ data = '', name }: SseEvent): Judgement => {
      const value = parseJson(data)?.value;
      if (name === 'error' || (isObject(value) && (value.type === 'error' || isObject(value.error)))) {
        return { kind: 'error', value: value ?? data, facts: errorFacts(value, read) };
      }
      if (!isObject(value) || typeof value.type !== 'string') return { kind: 'invalid' };
      const facts = read(value);
      return isLast(value) ? { kind: 'end', value, facts } : { kind: 'part', value, facts, isHidden: false };
    },
    failure: (error) => namedEvent('error', errorBody(error)),
    // A stream without its last event is incomplete.
    completion: () => '',
  };
}
