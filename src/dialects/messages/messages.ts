/** The messages dialect of Anthropic: `POST /v1/messages`. */
import { DIALECT_HEADERS, DIALECT_PATHS } from '../../core/dialects.ts';
import type { ClientError } from '../../core/errors.ts';
import type { ToolCall } from '../../core/host-tools.ts';
import { isObject, objectOf, parseJson } from '../../core/json.ts';
import { MAX_EVENT_BYTES, namedEvent, type SseEvent } from '../../wire/sse.ts';
import { isErrorValue } from '../../wire/upstream-error.ts';
import { type AnswerFacts, isOutput, NO_FACTS, NO_OUTPUT, type Output, together } from '../answer.ts';
import type { Dialect, Fields, Judgement, StreamReader, TextEvent } from '../dialect.ts';
import { withFields } from '../edit.ts';
import { errorFacts } from '../error-facts.ts';
import { readMessage, servedTiers, usageFacts } from './messages-answer.ts';
import { checkMessages } from './messages-check.ts';
import { messagesErrorBody } from './messages-errors.ts';
import { walkMessages } from './messages-input.ts';
import { BlockReader, outputOfBlock } from './messages-output.ts';
import { hostCallsOf, maximumEdits } from './messages-tools.ts';

export const MESSAGES: Dialect = {
  name: 'messages',
  title: 'messages',
  path: DIALECT_PATHS.messages,
  headers: DIALECT_HEADERS.messages,
  maximumField: 'max_tokens',
  maxEventBytes: MAX_EVENT_BYTES,
  answerFields: new Set(
    'id type role content model stop_reason stop_sequence usage container context_management message index content_block delta'.split(
      ' ',
    ),
  ),
  check: (body, model) => checkMessages(MESSAGES, body, model),
  walkInput: walkMessages,
  edit: ({ body, hostTools }, { model }) =>
    withFields(body, new Map([['model', JSON.stringify(model)]]), {
      within: hostTools.length === 0 ? [] : maximumEdits(body),
    }),
  readAnswer: readMessage,
  startStream: (requestId) => new MessagesStream(requestId),
  errorBody: messagesErrorBody,
};

/** Reads a stream. Usage arrives in parts, and the last value of each field counts. */
class MessagesStream implements StreamReader {
  readonly #requestId: string;
  #usage: Fields = {};
  readonly #blocks = new BlockReader();
  #blockCount = 0;
  /** Whether the stream has started. Some hosts send the start event twice. */
  #hasStarted = false;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  judge({ data = '', name }: SseEvent): Judgement {
    const value = parseJson(data)?.value;
    if (name === 'error' || isErrorValue(value)) {
      const facts = errorFacts(value, ({ usage }) => this.#withUsage(usage, false, NO_OUTPUT));
      return { kind: 'error', value: value ?? data, facts };
    }
    if (!isObject(value)) return { kind: 'invalid' };
    // Clients use either the name or the type of an event.
    const facts = this.#factsOf(value, value.type ?? name);
    if (value.type === 'message_stop' || name === 'message_stop') return { kind: 'end', value, facts };
    return { kind: 'part', value, facts, isHidden: false };
  }

  textEventOf({ type, delta }: Fields): TextEvent | undefined {
    if (type !== 'content_block_delta' || !isObject(delta)) return undefined;
    switch (delta.type) {
      case 'text_delta':
        return { text: ['delta', 'text'], others: [] };
      case 'input_json_delta':
        return { text: ['delta', 'partial_json'], others: [] };
      case 'thinking_delta':
        return { text: ['delta', 'thinking'], others: [], repeat: (text) => this.#blocks.addThinking(text) };
      default:
        return undefined;
    }
  }

  #factsOf(event: Fields, type: unknown): AnswerFacts {
    switch (type) {
      case 'message_start': {
        const message = objectOf(event.message);
        // Hosts that continue after a tool call send whole blocks here, and the answer may end here.
        const blocks = Array.isArray(message.content) && !this.#hasStarted ? message.content : [];
        this.#hasStarted = true;
        const finished = blocks.length > 0 && typeof message.stop_reason === 'string';
        const facts = this.#withUsage(message.usage, finished, together(blocks.map(outputOfBlock)));
        return {
          ...facts,
          toolCalls: blocks.flatMap((block) => this.#callsIn(block)),
          id: message.id,
          model: message.model,
        };
      }
      case 'content_block_start':
        return { ...factsOf(this.#blocks.begin(event.content_block)), toolCalls: this.#callsIn(event.content_block) };
      case 'content_block_delta':
        return factsOf(this.#blocks.add(event.delta));
      case 'message_delta': {
        const delta = objectOf(event.delta);
        return this.#withUsage(event.usage, typeof delta.stop_reason === 'string', NO_OUTPUT);
      }
      default:
        return NO_FACTS;
    }
  }

  /** Returns the calls in a block, which appears once. */
  #callsIn(block: unknown): readonly ToolCall[] {
    this.#blockCount++;
    return hostCallsOf(block, this.#blockCount);
  }

  #withUsage(usage: unknown, finished: boolean, output: Output): AnswerFacts {
    const progress = [{ index: 0, finished, ...output }];
    if (!isObject(usage)) return { ...NO_FACTS, progress };
    const reported = Object.entries(usage).filter(([, value]) => value !== null && value !== undefined);
    this.#usage = { ...this.#usage, ...Object.fromEntries(reported) };
    return {
      ...NO_FACTS,
      progress,
      ...usageFacts(this.#usage),
      serviceTier: servedTiers(this.#usage),
    };
  }

  failure(error: ClientError): string {
    return namedEvent('error', messagesErrorBody(error, this.#requestId));
  }

  completion(): string {
    return namedEvent('message_stop', '{"type":"message_stop"}');
  }
}

function factsOf(output: Output): AnswerFacts {
  return isOutput(output) ? { ...NO_FACTS, progress: [{ index: 0, finished: false, ...output }] } : NO_FACTS;
}
