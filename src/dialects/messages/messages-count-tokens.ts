/** Counting the tokens of a messages request: `POST /v1/messages/count_tokens`. */
import { countOf, NO_FACTS } from '../answer.ts';
import type { Dialect } from '../dialect.ts';
import { MESSAGES } from './messages.ts';
import { checkMessages } from './messages-check.ts';

/** The dialect of token counts: a messages request without a required maximum. The answer is one count. */
export const COUNT_TOKENS: Dialect = {
  ...MESSAGES,
  title: 'count_tokens',
  path: `${MESSAGES.path}/count_tokens`,
  answerFields: new Set(['input_tokens', 'context_management']),
  // Counts are never streamed.
  check: (body, model) => {
    const checked = checkMessages(COUNT_TOKENS, body, model, 1);
    return checked.ok ? { ok: true, request: { ...checked.request, stream: false } } : checked;
  },
  readAnswer: ({ input_tokens: tokens }) => ({ ...NO_FACTS, choices: countOf(tokens) === undefined ? undefined : 1 }),
};
