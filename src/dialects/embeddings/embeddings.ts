/** The embeddings dialect: `POST /v1/embeddings`. */
import { DIALECT_HEADERS } from '../../core/dialects.ts';
import { errorBody } from '../../core/errors.ts';
import type { JsonBody } from '../../wire/body.ts';
import { DONE_EVENT, dataEvent, MAX_EVENT_BYTES } from '../../wire/sse.ts';
import { audioBytesPerToken } from '../audio-output.ts';
import { readUsage } from '../chat/answer.ts';
import { type Check, type Checks, caseVariant, firstProblem, foreignMaxima, text, wholeNumber } from '../checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { withFields } from '../edit.ts';
import { type FieldKinds, walkFields } from '../input.ts';

export const EMBEDDINGS: Dialect = {
  name: 'embeddings',
  title: 'embeddings',
  path: '/embeddings',
  headers: DIALECT_HEADERS.embeddings,
  maximumField: undefined,
  maxEventBytes: MAX_EVENT_BYTES,
  answerFields: new Set(['object', 'data', 'model', 'usage']),
  check: checkEmbeddings,
  walkInput,
  edit: ({ body }, { model }) => withFields(body, new Map([['model', JSON.stringify(model)]])),
  readAnswer: ({ data, usage, id, model }: Fields) => ({
    usage: readUsage(usage),
    hasUsage: usage !== undefined,
    choices: Array.isArray(data) ? data.length : undefined,
    progress: [],
    id,
    serviceTier: undefined,
    model,
  }),
  // Answers come whole. Only a failure of the gateway itself could end a stream.
  startStream: () => ({
    judge: () => ({ kind: 'invalid' }),
    failure: (error) => dataEvent(errorBody(error)) + DONE_EVENT,
    completion: () => DONE_EVENT,
  }),
  errorBody,
};

const CHECKS: Checks = Object.entries<Check>({
  input: checkInput,
  ...Object.fromEntries(foreignMaxima('no maximum')),
  dimensions: wholeNumber('dimensions', 1),
  service_tier: text('service_tier'),
  stream: (value) => (value === undefined || value === false ? undefined : 'stream: embeddings are not streamed'),
});
const ACTED_ON: ReadonlySet<string> = new Set(['model', ...CHECKS.map(([name]) => name)]);

function checkEmbeddings(body: JsonBody, model: string): Checked {
  const { fields } = body;
  const names = body.members.map(({ key }) => key);
  const problem = caseVariant('', names, ACTED_ON) ?? firstProblem(fields, CHECKS);
  if (problem !== undefined) return { ok: false, problem };
  return {
    ok: true,
    request: {
      dialect: EMBEDDINGS,
      body,
      model,
      stream: false,
      includeUsage: false,
      maxOutput: 0,
      choices: 1,
      serviceTier: (fields.service_tier ?? undefined) as string | undefined,
      hiddenThinking: 0,
      hasAudio: false,
      predictedTokens: 0,
      audioBytesPerToken: audioBytesPerToken(),
      cacheWrite: undefined,
      summarizesAbove: undefined,
      hostTools: [],
    },
  };
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

/** Tokens that the client has counted itself count as they are. */
function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  const inputs = Array.isArray(fields.input) ? fields.input : [fields.input];
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === 'string') visit.text(input);
    else tokens += Array.isArray(input) ? input.length : 1;
  }
  return tokens;
}
