/** The embeddings dialect: `POST /v1/embeddings`. */
import { DIALECT_PATHS } from '../../core/dialects.ts';
import { isObject } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { readUsage } from '../chat/chat-answer.ts';
import { serviceTier, wholeNumber } from '../checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { type FieldKinds, walkFields } from '../input.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, unstreamed, WITHOUT_TEXT } from '../without-text.ts';

export const EMBEDDINGS: Dialect = {
  ...WITHOUT_TEXT,
  name: 'embeddings',
  title: 'embeddings',
  path: DIALECT_PATHS.embeddings,
  answerFields: new Set(['object', 'data', 'model', 'usage']),
  check: checkEmbeddings,
  walkInput,
  readAnswer: ({ data, usage, id, model }: Fields) => ({
    usage: readUsage(withInput(usage)),
    hasUsage: usage !== undefined,
    choices: Array.isArray(data) ? data.length : undefined,
    progress: [],
    id,
    serviceTier: undefined,
    model,
  }),
};

/** Some hosts, such as Voyage, report only the total, which has no output. */
function withInput(usage: unknown): unknown {
  return isObject(usage) ? { ...usage, prompt_tokens: usage.prompt_tokens ?? usage.total_tokens } : usage;
}

const CHECKS = checksWithoutText({
  input: checkInput,
  dimensions: wholeNumber('dimensions', 1),
  service_tier: serviceTier,
  stream: unstreamed('embeddings'),
});

function checkEmbeddings(body: JsonBody, model: string): Checked {
  return bodyProblem(body, CHECKS) ?? { ok: true, request: requestWithoutText(EMBEDDINGS, body, model) };
}

function checkInput(value: unknown): string | undefined {
  if (typeof value === 'string') return undefined;
  if (Array.isArray(value) && value.length > 0) {
    const isValid = value.every((item) => typeof item === 'string') || isTokens(value) || value.every(isTokens);
    if (isValid) return undefined;
  }
  return 'input: expected a string, or an array of strings, of tokens, or of arrays of tokens';
}

function isTokens(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'dimensions', 'encoding_format', 'user', 'service_tier', 'stream']),
  unnamed: new Set(),
  walked: new Set(['input']),
};

/** Many models add a token at both ends of each text, and hosts bill them. */
export const TOKENS_AROUND_TEXT = 2;

/** Input in tokens counts as it is. */
function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  const inputs = Array.isArray(fields.input) ? fields.input : [fields.input];
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === 'string') visit.text(input);
    tokens += typeof input === 'string' ? TOKENS_AROUND_TEXT : Array.isArray(input) ? input.length : 1;
  }
  return tokens;
}
