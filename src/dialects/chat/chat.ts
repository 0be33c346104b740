/** The chat-completions dialect: `POST /v1/chat/completions`. */
import { DIALECT_PATHS } from '../../core/dialects.ts';
import { type ClientError, errorBody } from '../../core/errors.ts';
import { isObject, parseJson } from '../../core/json.ts';
import type { JsonBody } from '../../wire/body.ts';
import { DONE, DONE_EVENT, dataEvent, MAX_EVENT_BYTES, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import type { Dialect, Judgement, StreamReader } from '../dialect.ts';
import { errorFacts } from '../error-facts.ts';
import { readChunk, readCompletion } from './chat-answer.ts';
import { type ChatRequest, checkChat } from './chat-check.ts';
import { editBody } from './chat-edit.ts';
import { walkChat } from './chat-input.ts';

export const CHAT: Dialect = {
  name: 'chat',
  title: 'chat-completions',
  path: DIALECT_PATHS.chat,
  headers: [],
  maxEventBytes: MAX_EVENT_BYTES,
  // Most hosts know only this field; OpenAI's own is set where its hosts are described.
  maximumField: 'max_tokens',
  answerFields: new Set('id object created model choices usage service_tier system_fingerprint'.split(' ')),
  check: (body: JsonBody, model: string) => checkChat(CHAT, body, model),
  // What checkChat has made.
  walkInput: (request, visit) => walkChat(request as ChatRequest, visit),
  edit: editBody,
  readAnswer: readCompletion,
  startStream: () => READER,
  errorBody,
};

/** Every event of a stream can be read by itself. */
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
  failure: (error: ClientError) => dataEvent(errorBody(error)) + DONE_EVENT,
  completion: () => DONE_EVENT,
};
