/** Google's embeddings: `POST /v1beta/models/{model}:embedContent` for one content, `:batchEmbedContents` for several. */
import { isObject, objectOf } from '../../core/json.ts';
import type { BodyResult, JsonBody } from '../../wire/body.ts';
import { dataEvent } from '../../wire/sse.ts';
import { type Checks, caseVariant, firstProblem, text, wholeNumber } from '../checks.ts';
import type { Address, Checked, Dialect, Fields, InputVisitor, ModelRequest } from '../dialect.ts';
import { TOKENS_AROUND_TEXT } from '../embeddings/embeddings.ts';
import { type FieldKinds, walkFields } from '../input.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, unstreamed, WITHOUT_TEXT } from '../without-text.ts';
import { modelName, modelPath } from './gemini.ts';
import { readUsage } from './gemini-answer.ts';
import { membersBeside, placedBody, withoutPrefix } from './gemini-body.ts';
import { geminiErrorBody } from './gemini-errors.ts';
import { listOf } from './gemini-fields.ts';

export const GEMINI_EMBEDDINGS: Dialect = {
  ...WITHOUT_TEXT,
  name: 'gemini_embeddings',
  title: 'Gemini embeddings',
  path: '/models',
  pathFor: ({ body }, model) => `${modelPath(model)}:${isBatch(body.fields) ? 'batchEmbedContents' : 'embedContent'}`,
  answerFields: new Set(['embedding', 'embeddings', 'usageMetadata']),
  place,
  check,
  walkInput,
  edit,
  readAnswer: ({ embedding, embeddings, usageMetadata }: Fields) => ({
    usage: readUsage(usageMetadata),
    hasUsage: isObject(usageMetadata),
    choices: Array.isArray(embeddings) ? embeddings.length : isObject(embedding) ? 1 : undefined,
    progress: [],
    id: undefined,
    serviceTier: undefined,
    model: undefined,
  }),
  startStream: (requestId) => ({
    judge: () => ({ kind: 'invalid' }),
    failure: (error) => dataEvent(geminiErrorBody(error, requestId)),
    completion: () => '',
  }),
  errorBody: geminiErrorBody,
};

/** Whether a body contains a batch of requests, each with a content. */
export function isBatch({ requests }: Fields): boolean {
  return requests !== undefined;
}

/** Returns the requests of a valid body, each with a `content`. */
export function embeddingRequestsOf(fields: Fields): readonly Fields[] {
  return isBatch(fields) ? (fields.requests as readonly Fields[]) : [fields];
}

/** Returns the settings object of newer clients. Older ones set its fields next to the content. */
export function embeddingConfigOf({ embedContentConfig: config }: Fields): Fields {
  return objectOf(config);
}

export function textsOf({ content }: Fields): readonly string[] {
  return listOf((content as Fields).parts).map((part) => (part as { readonly text: string }).text);
}

/** Places the model, and checks that the body matches the path: single or batch. */
function place(body: JsonBody, address: Address | undefined): BodyResult {
  const placed = placedBody(body, address);
  if (!placed.ok || address === undefined) return placed;
  const expectsBatch = address.isBatch === true;
  if (expectsBatch === isBatch(placed.body.fields)) return placed;
  const expected = expectsBatch ? 'expected an array' : 'expected only with :batchEmbedContents';
  return { ok: false, problem: `requests: ${expected}` };
}

const BODY_CHECKS = checksWithoutText({ requests: () => undefined, stream: unstreamed('embeddings') });

const SETTINGS: Checks = [
  ['taskType', text('taskType')],
  ['title', text('title')],
  ['outputDimensionality', wholeNumber('outputDimensionality', 1)],
];
const REQUEST_CHECKS: Checks = [['content', contentProblem], ...SETTINGS];
/** The checked fields of each request in a batch. */
const ACTED_ON = new Set(['model', ...REQUEST_CHECKS.map(([name]) => name)]);

function check(body: JsonBody, model: string): Checked {
  const { fields } = body;
  const problem = bodyProblem(body, BODY_CHECKS) ?? problemWith(fields);
  if (problem === undefined) return { ok: true, request: requestWithoutText(GEMINI_EMBEDDINGS, body, model) };
  return typeof problem === 'string' ? { ok: false, problem } : problem;
}

function problemWith(fields: Fields): string | undefined {
  if (!isBatch(fields)) return requestProblem(fields);
  const { requests, model } = fields;
  if (fields.content !== undefined) return 'content: expected either this or requests';
  if (!Array.isArray(requests) || requests.length === 0) return 'requests: expected an array with at least one request';
  for (const [index, request] of requests.entries()) {
    const problem = isObject(request)
      ? (modelProblem(request, model) ?? requestProblem(request))
      : 'expected an object';
    if (problem !== undefined) return `requests[${index}]${isObject(request) ? '.' : ': '}${problem}`;
  }
  return undefined;
}

/** Refuses another model, whose price would differ. */
function modelProblem(request: Fields, asked: unknown): string | undefined {
  const variant = caseVariant('', Object.keys(request), ACTED_ON);
  if (variant !== undefined) return variant;
  const { model } = request;
  if (model === undefined || (typeof model === 'string' && withoutPrefix(model) === asked)) return undefined;
  return 'model: expected the model in the path; correct it, or leave it out';
}

function requestProblem(request: Fields): string | undefined {
  const { embedContentConfig: config } = request;
  if (config !== undefined && !isObject(config)) return 'embedContentConfig: expected an object';
  const within = config && firstProblem(config, SETTINGS);
  return firstProblem(request, REQUEST_CHECKS) ?? (within && `embedContentConfig.${within}`);
}

/** Refuses non-text input, which has other prices. */
function contentProblem(content: unknown): string | undefined {
  const parts = isObject(content) ? listOf(content.parts) : [];
  if (parts.length === 0) return 'content: expected an object with parts';
  const other = parts.findIndex(
    (part) => !isObject(part) || typeof part.text !== 'string' || Object.keys(part).length > 1,
  );
  return other < 0
    ? undefined
    : `content.parts[${other}]: expected an object with text alone; only texts are embedded here`;
}

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'stream', 'taskType', 'outputDimensionality', 'autoTruncate', 'role']),
  unnamed: new Set(['title']),
  walked: new Set(['content', 'parts', 'requests', 'embedContentConfig']),
};

function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  const requests = embeddingRequestsOf(fields);
  const objects = new Set([fields, ...requests, ...requests.map(embeddingConfigOf)]);
  for (const object of objects) walkFields(object, FIELDS, visit);
  for (const request of requests) {
    walkFields(request.content as Fields, FIELDS, visit);
    for (const each of textsOf(request)) visit.text(each);
  }
  return requests.length * TOKENS_AROUND_TEXT;
}

/** Returns the body for a host, which takes the model from the path, and in a batch also from each request. */
function edit({ body }: ModelRequest, { model }: { readonly model: string }): string {
  const { fields } = body;
  if (!isBatch(fields)) return `{${membersBeside(body).join(',')}}`;
  const requests = embeddingRequestsOf(fields).map((request) => ({ ...request, model: modelName(model) }));
  return JSON.stringify({ requests });
}
