/** The responses dialect: `POST /v1/responses`. */
import { DIALECT_HEADERS, DIALECT_PATHS } from '../../core/dialects.ts';
import type { ClientError } from '../../core/errors.ts';
import { DEFAULT_CALLS } from '../../core/host-tools.ts';
import { isObject, parseJson } from '../../core/json.ts';
import { MAX_IMAGE_EVENT_BYTES, namedEvent, type SseEvent } from '../../wire/sse.ts';
import { type AnswerFacts, NO_FACTS, NO_OUTPUT } from '../answer.ts';
import type { Dialect, Fields, Judgement, ModelRequest, StreamReader, TextEvent, UpstreamFields } from '../dialect.ts';
import { withFields } from '../edit.ts';
import { errorFacts } from '../error-facts.ts';
import { readResponse, usageFacts } from './responses-answer.ts';
import { checkResponses } from './responses-check.ts';
import { walkResponses } from './responses-input.ts';
import { ItemReader } from './responses-output.ts';
import { hostCallOfItem } from './responses-tools.ts';

export const RESPONSES: Dialect = {
  name: 'responses',
  title: 'responses',
  path: DIALECT_PATHS.responses,
  headers: DIALECT_HEADERS.responses,
  maximumField: 'max_output_tokens',
  // Some events repeat the request's instructions and tools.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  answerFields: new Set(
    'id object created_at status incomplete_details instructions max_output_tokens model output parallel_tool_calls reasoning store temperature text tool_choice tools top_p truncation usage user metadata service_tier type response sequence_number item item_id output_index content_index delta part summary_index arguments input name code refusal annotation obfuscation'.split(
      ' ',
    ),
  ),
  check: (body, model) => checkResponses(RESPONSES, body, model),
  walkInput: walkResponses,
  edit: editBody,
  readAnswer: readResponse,
  startStream: () => new ResponsesStream(),
  errorBody: responsesErrorBody,
};

/** The dialect for reading or deleting a stored response. Any object from the host is forwarded. */
export const KEPT_RESPONSE: Dialect = {
  ...RESPONSES,
  answerFields: new Set([...RESPONSES.answerFields, 'deleted']),
  readAnswer: () => ({ ...NO_FACTS, choices: 1 }),
};

/**
 * Returns the body for a host. A host would store the answer for every key, so each request disables that unless the
 * gateway records the owning key. Sets the number of held tool calls as their maximum.
 */
function editBody({ body, hostTools, state }: ModelRequest, { model, cap }: UpstreamFields): string {
  const values = new Map([['model', JSON.stringify(model)]]);
  if (hostTools.length > 0 && typeof body.fields.max_tool_calls !== 'number') {
    values.set('max_tool_calls', String(DEFAULT_CALLS));
  }
  if (body.fields.store !== false && state?.mayKeep !== true) values.set('store', 'false');
  if (cap !== undefined) values.set(cap.field, String(cap.tokens));
  return withFields(body, values);
}

/** The event number, and padding that hides the text length. */
const OTHERS = ['sequence_number', 'obfuscation'];

/** Reads a stream whose last event contains the whole response with its usage. */
class ResponsesStream implements StreamReader {
  #id = 'resp_failed';
  #createdAt = 0;
  #model = '';
  #sequenceNumber = 0;
  readonly #items = new ItemReader();
  /** Whether output has arrived, which the last event repeats. */
  #hasWritten = false;
  /** Whether calls of the host's tools have arrived, which the last event repeats. */
  #hasCalls = false;

  judge({ data = '', name }: SseEvent): Judgement {
    const value = parseJson(data)?.value;
    if (!isObject(value)) return name === 'error' ? this.#failed(data) : { kind: 'invalid' };
    const { type, response } = value;
    if (isObject(response)) this.#remember(response);
    if (type === 'error' || name === 'error' || (type === undefined && value.error)) return this.#failed(value);
    if (type === 'response.failed') return this.#failed(isObject(response) ? response : value);
    if (type === 'response.completed' || type === 'response.incomplete') {
      return { kind: 'end', value, facts: this.#lastFacts(response) };
    }
    if (typeof value.sequence_number === 'number') this.#sequenceNumber = value.sequence_number + 1;
    const facts = this.#factsOf(value);
    this.#hasWritten ||= facts.progress.length > 0;
    this.#hasCalls ||= facts.toolCalls !== undefined;
    return { kind: 'part', value, facts, isHidden: false };
  }

  textEventOf({ output_index: place }: Fields): TextEvent {
    const repeat = (text: string, sequenceNumber: number | undefined) => {
      if (sequenceNumber !== undefined) this.#sequenceNumber = sequenceNumber + 1;
      this.#items.addText(place, text);
    };
    return { text: ['delta'], others: OTHERS, repeat };
  }

  #failed(value: unknown): Judgement {
    return { kind: 'error', value, facts: errorFacts(value, (response) => this.#lastFacts(response)) };
  }

  #factsOf(event: Fields): AnswerFacts {
    const { type, response, item, output_index: index } = event;
    if (isObject(response)) return { ...NO_FACTS, id: response.id, ...usageFacts(response) };
    const output = this.#items.read(event);
    // Only the end event contains an item's final action.
    const hasCall = (type === 'response.output_item.added' || type === 'response.output_item.done') && isObject(item);
    const call = hasCall ? hostCallOfItem(item, index) : undefined;
    const facts = call === undefined ? NO_FACTS : { ...NO_FACTS, toolCalls: [call] };
    return output === NO_OUTPUT ? facts : { ...facts, progress: [{ index: 0, finished: false, ...output }] };
  }

  #lastFacts(response: unknown): AnswerFacts {
    const whole = isObject(response) ? readResponse(response) : NO_FACTS;
    const facts = this.#hasCalls ? { ...whole, toolCalls: [] } : whole;
    if (!this.#hasWritten) return facts;
    return { ...facts, progress: facts.progress.map((choice) => ({ ...choice, ...NO_OUTPUT })) };
  }

  #remember({ id, created_at: createdAt, model }: Fields): void {
    if (typeof id === 'string') this.#id = id;
    if (typeof createdAt === 'number') this.#createdAt = createdAt;
    if (typeof model === 'string') this.#model = model;
  }

  failure({ code, message, requestFault }: ClientError): string {
    const response = {
      id: this.#id,
      object: 'response',
      created_at: this.#createdAt,
      status: 'failed',
      error: { code: requestFault?.code ?? code, message },
      incomplete_details: null,
      model: this.#model,
      output: [],
      usage: null,
    };
    const event = { type: 'response.failed', sequence_number: this.#sequenceNumber, response };
    return namedEvent('response.failed', JSON.stringify(event));
  }

  /** A stream without its last event is incomplete. */
  completion(): string {
    return '';
  }
}

/** Returns an error body. Clients act on the code of a request fault. */
function responsesErrorBody({ code, message, requestFault }: ClientError): string {
  return JSON.stringify({ error: { code: requestFault?.code ?? code, message } });
}
