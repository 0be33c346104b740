/** Translates streams, event by event. */
import { type ClientError, errorBody } from '../../core/errors.ts';
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { DONE_EVENT, dataEvent } from '../../wire/sse.ts';
import type { ResponseContext, StreamTranslator } from '../translation.ts';
import { finishReasonOf, refusalOf, thinkingBlockOf } from './answer.ts';
import { type CallStyle, CallWriter } from './calls.ts';
import { mergedUsage, serviceTierOf, usageOf } from './usage.ts';

/** What a translator needs of the request. */
export interface StreamRequest {
  /** As the client named it. */
  readonly model: string;
  readonly includeUsage: boolean;
  readonly style: CallStyle;
}

/** A block that has begun. Texts need nothing to be kept. */
type OpenBlock =
  | { readonly kind: 'call'; readonly writer: CallWriter }
  /** Clients give it back whole, with its signature. */
  | { readonly kind: 'thinking'; readonly block: Fields; thinking: string; signature: string };

export class ChatStream implements StreamTranslator {
  readonly #request: StreamRequest;
  /** The fields of every chunk. */
  #head: Fields;
  #hasBegun = false;
  #isFinished = false;
  /** By the host's index. */
  readonly #open = new Map<unknown, OpenBlock>();
  #calls = 0;
  #thinkingBlocks = 0;
  #usage: Fields = {};

  constructor(request: StreamRequest, { requestId, nowS }: ResponseContext) {
    this.#request = request;
    this.#head = { id: requestId, object: 'chat.completion.chunk', created: nowS, model: request.model };
  }

  push(event: Fields): string {
    switch (event.type) {
      case 'message_start':
        return this.#begin(event.message);
      case 'content_block_start':
        return this.#close(event.index) + this.#startBlock(event.index, event.content_block);
      case 'content_block_delta':
        return isObject(event.delta) ? this.#continueBlock(event.index, event.delta) : '';
      case 'content_block_stop':
        return this.#close(event.index);
      case 'message_delta':
        this.#usage = mergedUsage(this.#usage, event.usage);
        return isObject(event.delta) ? this.#finish(event.delta) : '';
      default:
        return '';
    }
  }

  failure(error: ClientError): string {
    return dataEvent(errorBody(error)) + DONE_EVENT;
  }

  completion(): string {
    // A host may end without a reason. Client libraries take a stream without one as broken.
    const rest = this.#finish({ stop_reason: this.#calls > 0 ? 'tool_use' : 'end_turn' });
    const usage = this.#request.includeUsage ? usageOf(this.#usage) : undefined;
    const chunk = usage === undefined ? '' : dataEvent(JSON.stringify({ ...this.#head, choices: [], usage }));
    return rest + chunk + DONE_EVENT;
  }

  /** Some hosts send the start twice. */
  #begin(message: unknown): string {
    if (!isObject(message)) return '';
    this.#usage = mergedUsage(this.#usage, message.usage);
    if (this.#hasBegun) return '';
    const { id, model } = message;
    this.#head = {
      ...this.#head,
      ...(typeof id === 'string' && { id }),
      ...(typeof model === 'string' && { model }),
      ...serviceTierOf(message.usage),
    };
    return this.#firstChunk() + this.#readContent(message);
  }

  /** Hosts that go on where they stopped for a tool send whole blocks with the start, and may end there. */
  #readContent(message: Fields): string {
    const blocks = Array.isArray(message.content) ? message.content.filter(isObject) : [];
    if (blocks.length === 0) return '';
    // They have no index of their own.
    const chunks = blocks.map((block) => this.#startBlock(undefined, block) + this.#close(undefined));
    return chunks.join('') + this.#finish(message);
  }

  #firstChunk(): string {
    this.#hasBegun = true;
    return this.#chunk({ role: 'assistant', content: '' });
  }

  #startBlock(index: unknown, block: unknown): string {
    if (!isObject(block)) return '';
    switch (block.type) {
      case 'text':
        return this.#text('content', block.text);
      case 'thinking':
      case 'redacted_thinking': {
        const { thinking, signature } = block;
        this.#open.set(index, {
          kind: 'thinking',
          block,
          thinking: stringOf(thinking),
          signature: stringOf(signature),
        });
        return this.#text('reasoning_content', thinking);
      }
      case 'tool_use':
        return this.#startCall(index, block);
      default:
        return '';
    }
  }

  #startCall(index: unknown, block: Fields): string {
    // The deprecated form has room for one.
    if (this.#request.style.isFunctionCall && this.#calls > 0) return '';
    const writer = new CallWriter(block, this.#calls++, this.#request.style);
    this.#open.set(index, { kind: 'call', writer });
    return this.#delta(writer.start);
  }

  #continueBlock(index: unknown, delta: Fields): string {
    const open = this.#open.get(index);
    switch (delta.type) {
      case 'text_delta':
        return this.#text('content', delta.text);
      case 'thinking_delta':
        if (open?.kind === 'thinking') open.thinking += stringOf(delta.thinking);
        return this.#text('reasoning_content', delta.thinking);
      case 'signature_delta':
        if (open?.kind === 'thinking') open.signature += stringOf(delta.signature);
        return '';
      case 'input_json_delta':
        return open?.kind === 'call' ? this.#delta(open.writer.push(stringOf(delta.partial_json))) : '';
      default:
        return '';
    }
  }

  #close(index: unknown): string {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open === undefined) return '';
    if (open.kind === 'call') return this.#delta(open.writer.end());
    const { block, thinking, signature } = open;
    // Client libraries join the entries of lists by their index.
    const entry = { index: this.#thinkingBlocks++, ...thinkingBlockOf({ ...block, thinking, signature }) };
    return this.#delta({ thinking_blocks: [entry] });
  }

  #finish(delta: Fields): string {
    const reason = delta.stop_reason;
    if (this.#isFinished || reason === undefined || reason === null) return '';
    this.#isFinished = true;
    // Not every host ends its blocks.
    const rest = [...this.#open.keys()].map((index) => this.#close(index)).join('');
    const refusal = refusalOf(delta);
    const last = refusal === undefined ? {} : { refusal };
    return rest + this.#opening() + this.#chunk(last, finishReasonOf(reason, this.#request.style));
  }

  #text(field: 'content' | 'reasoning_content', text: unknown): string {
    return this.#delta(typeof text === 'string' && text !== '' ? { [field]: text } : undefined);
  }

  /** A chunk with a delta, if there is one. */
  #delta(delta: Fields | undefined): string {
    return delta === undefined ? '' : this.#opening() + this.#chunk(delta);
  }

  /** The first chunk, if the host has left out the start. */
  #opening(): string {
    return this.#hasBegun ? '' : this.#firstChunk();
  }

  #chunk(delta: Fields, finishReason: string | null = null): string {
    const choices = [{ index: 0, delta, finish_reason: finishReason }];
    return dataEvent(JSON.stringify({ ...this.#head, choices, ...(this.#request.includeUsage && { usage: null }) }));
  }
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
