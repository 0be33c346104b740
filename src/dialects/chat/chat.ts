/** The chat-completions dialect: `POST /v1/chat/completions`. */
import { DIALECT_PATHS } from '../../core/dialects.ts';
import { type ClientError, errorBody } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { applyEdits, membersOf } from '../../wire/members.ts';
import { DONE, DONE_EVENT, dataEvent, MAX_EVENT_BYTES, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import type { Dialect, Fields, Judgement, ModelRequest, StreamReader, TextEvent, UpstreamFields } from '../dialect.ts';
import { withFields } from '../edit.ts';
import { errorFacts } from '../error-facts.ts';
import { readChunk, readCompletion } from './chat-answer.ts';
import { type ChatRequest, checkChat } from './chat-check.ts';
import { walkChat } from './chat-input.ts';
import { placeOfText } from './chat-output.ts';

export const CHAT: Dialect = {
  name: 'chat',
  title: 'chat-completions',
  path: DIALECT_PATHS.chat,
  headers: [],
  maxEventBytes: MAX_EVENT_BYTES,
  // Most hosts know only this field. The config of OpenAI's hosts sets OpenAI's own.
  maximumField: 'max_tokens',
  answerFields: new Set('id object created model choices usage service_tier system_fingerprint obfuscation'.split(' ')),
  check: (body: JsonBody, model: string) => checkChat(CHAT, body, model),
  // checkChat created the request.
  walkInput: (request, visit) => walkChat(request as ChatRequest, visit),
  edit: editBody,
  readAnswer: readCompletion,
  startStream: () => READER,
  errorBody,
};

/** Reads each event independently, so streams share the reader. */
const READER: StreamReader = {
  judge({ data = '', name }: SseEvent): Judgement {
    if (data.trim() === DONE) return { kind: 'end' };
    const value = parseJson(data)?.value;
    if (name === 'error' || isErrorValue(value))
      return { kind: 'error', value: value ?? data, facts: errorFacts(value, readChunk) };
    if (!isObject(value)) return { kind: 'invalid' };
    const facts = readChunk(value);
    return { kind: 'part', value, facts, isHidden: facts.hasUsage && (facts.choices ?? 0) === 0 };
  },
  textEventOf: ({ choices }: Fields): TextEvent | undefined => {
    const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
    const within = isObject(choice) && isObject(choice.delta) ? placeOfText(choice.delta) : undefined;
    return within && { text: ['choices', 0, 'delta', ...within], others: OTHERS };
  },
  failure: (error: ClientError) => dataEvent(errorBody(error)) + DONE_EVENT,
  completion: () => DONE_EVENT,
};

/** OpenAI's padding, which hides the text length. */
const OTHERS = ['obfuscation'];

export function editBody(request: ModelRequest, fields: UpstreamFields): string {
  const { body } = request;
  const values = new Map([['model', JSON.stringify(fields.model)]]);
  if (fields.askForUsage && !request.includeUsage) {
    const options = body.members.find(({ key }) => key === 'stream_options');
    const text = options === undefined ? 'null' : body.text.slice(options.valueStart, options.valueEnd);
    values.set('stream_options', withUsage(text));
  }
  const { cap } = fields;
  if (cap === undefined) return withFields(body, values);
  values.set(cap.field, String(cap.tokens));
  // Some hosts refuse a request with two maxima.
  const other = MAXIMA.find((name) => name !== cap.field && typeof body.fields[name] === 'number');
  return withFields(body, values, { without: other });
}

const MAXIMA = ['max_completion_tokens', 'max_tokens'];

/** Returns `stream_options` with `include_usage: true`, otherwise unchanged. */
function withUsage(options: string): string {
  if (options === 'null') return '{"include_usage":true}';
  const members = membersOf(options, 0);
  const first = members[0];
  if (first === undefined) return '{"include_usage":true}';
  const edits = members
    .filter((member) => member.key === 'include_usage')
    .map((member) => ({ start: member.valueStart, end: member.valueEnd, replacement: 'true' }));
  if (edits.length > 0) return applyEdits(options, edits);
  return applyEdits(options, [{ start: first.keyStart, end: first.keyStart, replacement: '"include_usage":true,' }]);
}
