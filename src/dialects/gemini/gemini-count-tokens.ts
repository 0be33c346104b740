/** Counting the tokens of a request: `POST /v1beta/models/{model}:countTokens`. */
import { isObject } from '../../core/json.ts';
import { countOf, NO_FACTS } from '../answer.ts';
import type { Dialect } from '../dialect.ts';
import { GEMINI, modelName, modelPath } from './gemini.ts';
import { bodyOf, membersBeside, placedBody } from './gemini-body.ts';
import { checkGemini } from './gemini-check.ts';
import { camelCase } from './gemini-names.ts';

const WRAPPER = 'generateContentRequest';

/** The dialect of token counts. The body is a request or wraps one; the answer is one count. */
export const GEMINI_COUNT_TOKENS: Dialect = {
  ...GEMINI,
  title: 'countTokens',
  pathFor: (_, model) => `${modelPath(model)}:countTokens`,
  answerFields: new Set(['totalTokens', 'totalBillableCharacters', 'cachedContentTokenCount', 'promptTokensDetails']),
  place(body, address) {
    const placed = placedBody(body, undefined);
    if (!placed.ok) return placed;
    const wrapped = body.members.find(({ key }) => camelCase(key) === WRAPPER);
    if (wrapped === undefined || !isObject(body.fields[wrapped.key])) return placedBody(body, address);
    if (placed.body.fields.contents !== undefined) {
      return { ok: false, problem: `contents: expected either this or ${WRAPPER}` };
    }
    return placedBody(bodyOf(body.text.slice(wrapped.valueStart, wrapped.valueEnd)), address);
  },
  check: (body, model) => checkGemini(GEMINI_COUNT_TOKENS, body, model),
  /** Wraps the request, since only the wrapper accepts instructions and tools. */
  edit({ body }, { model }) {
    const name = JSON.stringify(modelName(model));
    return `{"${WRAPPER}":{${[`"model":${name}`, ...membersBeside(body)].join(',')}}}`;
  },
  readAnswer: ({ totalTokens }) => ({ ...NO_FACTS, choices: countOf(totalTokens) === undefined ? undefined : 1 }),
};
