/** Translates a stream of chat-completion chunks into the events of a streamed message. */
import type { ClientError } from '../../core/errors.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { messagesErrorBody } from '../../dialects/messages/errors.ts';
import { namedEvent } from '../../wire/sse.ts';
import type { ResponseContext, StreamTranslator } from '../translation.ts';
import { type AnswerOptions, callId, messageHead } from './answer.ts';
import { choiceOf, messageUsage, NO_MESSAGE_USAGE, readDelta, stopReasonOf } from './chat-output.ts';
import { ContentBlocks, event } from './content-blocks.ts';

export class MessageStream implements StreamTranslator {
  readonly #options: AnswerOptions;
  readonly #context: ResponseContext;
  readonly #blocks: ContentBlocks;
  #isStarted = false;
  #hasRefusal = false;
  #finish: unknown;
  /** The last one that was reported: it may come after the finish reason, so it waits for the end. */
  #usage: Fields = NO_MESSAGE_USAGE;

  constructor(options: AnswerOptions, context: ResponseContext) {
    this.#options = options;
    this.#context = context;
    this.#blocks = new ContentBlocks((position) => callId(position, context));
  }

  push(chunk: Fields): string {
    this.#usage = messageUsage(chunk.usage) ?? this.#usage;
    const choice = choiceOf(chunk);
    return this.#start(chunk) + (choice === undefined ? '' : this.#readChoice(choice));
  }

  /** The rest of the message. Without a finish reason it has simply ended: the host says that it is complete. */
  completion(): string {
    const reasons = { hasCalls: this.#blocks.hasCalls, hasRefusal: this.#hasRefusal };
    const delta = { stop_reason: stopReasonOf(this.#finish, reasons), stop_sequence: null };
    const end = event('message_delta', { delta, usage: this.#usage }) + event('message_stop', {});
    return this.#start({}) + this.#blocks.close() + end;
  }

  failure(error: ClientError): string {
    return namedEvent('error', messagesErrorBody(error, this.#context.requestId));
  }

  #start(chunk: Fields): string {
    if (this.#isStarted) return '';
    this.#isStarted = true;
    const head = messageHead(chunk, this.#options, this.#context);
    const message = { ...head, content: [], stop_reason: null, stop_sequence: null, usage: this.#usage };
    return event('message_start', { message });
  }

  #readChoice(choice: Fields): string {
    const { thinking, text, refusal, calls } = readDelta(choice);
    const { finish_reason: finish } = choice;
    this.#hasRefusal ||= refusal !== '';
    let events = this.#options.showsThinking ? this.#blocks.add('thinking', thinking) : '';
    events += this.#blocks.add('text', text + refusal);
    for (const call of calls) events += this.#blocks.addCall(call);
    if (typeof finish !== 'string' || finish === '') return events;
    this.#finish = finish;
    return events + this.#blocks.close();
  }
}
