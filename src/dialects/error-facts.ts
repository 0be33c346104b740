/** Reads usage and output from a host's error, since hosts bill work before a failure. */
import { isObject, objectOf } from '../core/json.ts';
import { type AnswerFacts, isOutput, NO_FACTS } from './answer.ts';
import { readCompletion } from './chat/chat-answer.ts';
import type { Fields } from './dialect.ts';
import { readResponse } from './responses/responses-answer.ts';

/**
 * Returns the usage or the partial output in an error; undefined if it contains neither. `read` reads an answer of the
 * host's dialect. A proxied host may use another dialect, so usage counts under the names of any dialect, next to the error
 * or inside it.
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

/** Keeps only choices with output and marks them unfinished. */
function ofError(facts: AnswerFacts): AnswerFacts {
  const written = facts.progress.filter(isOutput);
  return { ...facts, progress: written.map((choice) => ({ ...choice, finished: false })) };
}

/** Whether the host refused the prompt for its content. Azure bills such prompts. */
function isPromptFiltered(error: unknown): boolean {
  if (!isObject(error)) return false;
  const inner = objectOf(error.innererror);
  return (
    error.code === 'content_filter' ||
    inner.code === 'ResponsibleAIPolicyViolation' ||
    isObject(inner.content_filter_result)
  );
}
