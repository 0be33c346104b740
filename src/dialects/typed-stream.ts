/** Streams of typed events that are no text for a conversation: images, sound, transcripts. */
import { errorBody } from '../core/errors.ts';
import { isObject, parseJson } from '../core/json.ts';
import { namedEvent, type SseEvent } from '../wire/sse.ts';
import type { AnswerFacts } from './answer.ts';
import type { Fields, Judgement, StreamReader } from './dialect.ts';
import { errorFacts } from './error-facts.ts';

export interface TypedStreamOptions {
  /** What an event says. */
  read(event: Fields): AnswerFacts;
  /** Whether nothing follows an event, which has been read. */
  isLast(event: Fields): boolean;
}

/** A stream whose events have a `type`, and of which the last has the usage. */
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
    // Without its last event a stream is not complete.
    completion: () => '',
  };
}
