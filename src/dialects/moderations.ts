/** The moderations dialect: `POST /v1/moderations`. */
import { DIALECT_PATHS } from '../core/dialects.ts';
import { isObject } from '../core/json.ts';
import type { JsonBody } from '../wire/body.ts';
import { readData } from './attachments.ts';
import { readUsage } from './chat/chat-answer.ts';
import { serviceTier } from './checks.ts';
import type { Checked, Dialect, Fields, InputVisitor, ModelRequest } from './dialect.ts';
import { type FieldKinds, walkFields, walkMessage } from './input.ts';
import { bodyProblem, checksWithoutText, requestWithoutText, unstreamed, WITHOUT_TEXT } from './without-text.ts';

export const MODERATIONS: Dialect = {
  ...WITHOUT_TEXT,
  name: 'moderations',
  title: 'moderations',
  path: DIALECT_PATHS.moderations,
  answerFields: new Set(['id', 'model', 'results', 'usage']),
  check: checkModerations,
  walkInput,
  readAnswer: ({ results, usage, id, model }: Fields) => ({
    usage: readUsage(usage),
    hasUsage: usage !== undefined,
    choices: Array.isArray(results) ? results.length : undefined,
    progress: [],
    id,
    serviceTier: undefined,
    model,
    isWithoutOutput: true,
  }),
};

const CHECKS = checksWithoutText({
  input: checkInput,
  service_tier: serviceTier,
  stream: unstreamed('moderations'),
});

function checkModerations(body: JsonBody, model: string): Checked {
  return bodyProblem(body, CHECKS) ?? { ok: true, request: requestWithoutText(MODERATIONS, body, model) };
}

function checkInput(value: unknown): string | undefined {
  if (typeof value === 'string') return undefined;
  if (Array.isArray(value) && value.length > 0) {
    if (value.every((item) => typeof item === 'string') || value.every(isPart)) return undefined;
  }
  return 'input: expected a string, or an array of strings, or of parts that each have a type';
}

function isPart(value: unknown): value is Fields {
  return isObject(value) && typeof value.type === 'string';
}

const FIELDS: FieldKinds = {
  settings: new Set(['model', 'user', 'safety_identifier', 'service_tier', 'stream']),
  unnamed: new Set(['metadata']),
  walked: new Set(['input']),
};

function walkInput({ body: { fields } }: ModelRequest, visit: InputVisitor): number {
  walkFields(fields, FIELDS, visit);
  const inputs: readonly unknown[] = Array.isArray(fields.input) ? fields.input : [fields.input];
  for (const input of inputs) {
    if (typeof input === 'string') visit.text(input);
    else if (isObject(input)) walkMessage(withImage(input), readImage, visit);
  }
  return 0;
}

/** Wraps a bare `image_url` string, which some hosts accept, as `image_url.url`. */
function withImage(part: Fields): Fields {
  return typeof part.image_url === 'string' ? { ...part, image_url: { url: part.image_url } } : part;
}

function readImage(name: string, value: Fields) {
  if (name === 'image_url' && value.url !== undefined) return readData({ holder: value, field: 'url' }, 'image');
  return undefined;
}
