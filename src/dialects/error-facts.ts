/** What an error of a host says of work that it has done all the same, and bills. */
import { isObject, objectOf } from '../core/json.ts';
import { type AnswerFacts, isOutput, NO_FACTS } from './answer.ts';
import { readCompletion } from './chat/chat-answer.ts';
import type { Fields } from './dialect.ts';
import { readResponse } from './responses/responses-answer.ts';

/**
 * The usage that an error reports, or what has been written before it; undefined if it says nothing
 * of work. `read` reads an answer of the host's dialect. A host behind it may have another one, so
 * usage counts in the names of any, beside the error or within it.
 */
export function errorFacts(value: unknown, read: (answer: Fields) => AnswerFacts): AnswerFacts | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  if (!isObject(first)) return undefined;
  const places = [first, first.error, first.response].filter(isObject);
  for (const place of places) {
    for (const readPlace of [read, readCompletion, readResponse]) {
      const facts = readPlace(place);
      if (facts.usage !== undefined) return ofError(facts);
    }
  }
  const facts = ofError(read(first));
  if (facts.progress.length > 0) return facts;
  return isPromptFiltered(first.error) ? { ...NO_FACTS, isInputBilled: true } : undefined;
}

/** Of the choices, only what was written: none of them is finished by an error. */
function ofError(facts: AnswerFacts): AnswerFacts {
  const written = facts.progress.filter(isOutput);
  return { ...facts, progress: written.map((choice) => ({ ...choice, finished: false })) };
}

/** Whether the host has read the prompt, and refuses it for what it says, as Azure does, which bills that. */
function isPromptFiltered(error: unknown): boolean {
  if (!isObject(error)) return false;
  const inner = objectOf(error.innererror);
  return (
    error.code === 'content_filter' ||
    inner.code === 'ResponsibleAIPolicyViolation' ||
    isObject(inner.content_filter_result)
  );
}
