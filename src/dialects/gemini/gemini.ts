/** Google's dialect: `POST /v1beta/models/{model}:generateContent`, and `:streamGenerateContent`. */
import type { ClientError } from '../../core/errors.ts';
import { isObject, parseJson, withLongIntegers } from '../../core/json.ts';
import { applyEdits, ObjectEditor } from '../../wire/members.ts';
import { dataEvent, MAX_IMAGE_EVENT_BYTES, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import type { Dialect, Judgement, ModelRequest, StreamReader, UpstreamFields } from '../dialect.ts';
import { errorFacts } from '../error-facts.ts';
import { readGemini } from './gemini-answer.ts';
import { bodyOf, membersBeside, placedBody } from './gemini-body.ts';
import { checkGemini } from './gemini-check.ts';
import { geminiErrorBody } from './gemini-errors.ts';
import { configOf } from './gemini-fields.ts';
import { walkGemini } from './gemini-input.ts';
import { joinPieces } from './gemini-join.ts';

/** Returns the host's name for a model. A name with a slash includes its kind, such as `tunedModels/one`. */
export function modelName(model: string): string {
  return model.includes('/') ? model : `models/${model}`;
}

/** Returns the path of a model relative to the base URL of a host. */
export function modelPath(model: string): string {
  return `/${encodeURI(modelName(model))}`;
}

export const GEMINI: Dialect = {
  name: 'gemini',
  title: 'Gemini',
  path: '/models',
  pathFor: ({ stream }, model) => `${modelPath(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  headers: [],
  // Within `generationConfig`: see `edit`.
  maximumField: 'maxOutputTokens',
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  answerFields: new Set(
    'candidates usageMetadata promptFeedback modelVersion responseId createTime modelStatus'.split(' '),
  ),
  place: placedBody,
  check: (body, model) => checkGemini(GEMINI, body, model),
  walkInput: walkGemini,
  edit,
  readAnswer: readGemini,
  startStream: (requestId) => new GeminiStream(requestId),
  joinPieces,
  errorBody: geminiErrorBody,
};

/** Returns the body for a host, which takes model and stream from the path. */
function edit({ body }: ModelRequest, { cap }: UpstreamFields): string {
  const isDeclared = typeof configOf(body.fields).maxOutputTokens === 'number';
  if (cap === undefined || isDeclared) return `{${membersBeside(body).join(',')}}`;
  const maximum = `{"${cap.field}":${cap.tokens}}`;
  if (!isObject(body.fields.generationConfig)) {
    return `{${[...membersBeside(body, ['generationConfig']), `"generationConfig":${maximum}`].join(',')}}`;
  }
  const editor = new ObjectEditor(body.text);
  const capped = applyEdits(body.text, [editor.set(['generationConfig'], cap.field, String(cap.tokens))]);
  return `{${membersBeside(bodyOf(capped)).join(',')}}`;
}

/** Reads each event independently. A stream ends with its body, without a final event. */
class GeminiStream implements StreamReader {
  readonly #requestId: string;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  judge({ data = '', name }: SseEvent): Judgement {
    const value = parseJson(data)?.value;
    if (name === 'error' || isErrorValue(Array.isArray(value) ? value[0] : value))
      return { kind: 'error', value: value ?? data, facts: errorFacts(value, readGemini) };
    if (!isObject(value)) return { kind: 'invalid' };
    const facts = readGemini(value);
    const isEnding = facts.progress.some(({ finished }) => finished);
    return {
      kind: 'part',
      value: withLongIntegers(data, value),
      facts,
      isHidden: false,
      ...(isEnding && { mayBeLast: true }),
    };
  }

  failure(error: ClientError): string {
    return dataEvent(geminiErrorBody(error, this.#requestId));
  }

  /** The end of the body completes a stream. */
  completion(): string {
    return '';
  }
}
