/** Reads messages and their stream events. */
import { isObject, objectOf, objectsIn } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { readUsage } from '../../dialects/messages/messages-answer.ts';
import { type AnswerEnd, type AnswerWriter, type HostReader, textOf, usageOf } from '../answer.ts';

/** A block in progress. Text needs no state. */
type OpenBlock =
  /** `input`: the arguments, unless streamed. */
  | { readonly kind: 'call'; readonly input: unknown; isEmpty: boolean }
  /** Sent back by clients as a whole, with its signature. */
  | { readonly kind: 'thinking'; readonly block: Fields; thinking: string; signature: string };

export class MessagesAnswerReader implements HostReader {
  readonly #writer: AnswerWriter;
  /** Blocks by the host's index. */
  readonly #open = new Map<unknown, OpenBlock>();
  /** Index of the latest block. All other open blocks may be interleaved, so they are not known to be complete. */
  #lastIndex: unknown;
  #usage: Fields = {};
  #hasStarted = false;

  constructor(writer: AnswerWriter) {
    this.#writer = writer;
  }

  readWhole(message: Fields): void {
    this.#readUsage(message.usage);
    this.#writer.begin(message);
    this.#readBlocks(objectsIn(message.content));
    this.#finish(message);
  }

  readEvent(event: Fields): void {
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) this.#readStart(event.message);
        return;
      case 'content_block_start':
        if (isObject(event.content_block)) this.#startBlock(event.index, event.content_block);
        return;
      case 'content_block_delta':
        if (isObject(event.delta)) this.#continueBlock(event.index, event.delta);
        return;
      case 'content_block_stop':
        return this.#stopBlock(event.index);
      case 'message_delta':
        this.#readUsage(event.usage);
        if (isObject(event.delta)) this.#finish(event.delta);
    }
  }

  /** Ends open blocks, because some hosts omit the end events. */
  end(): void {
    for (const index of [...this.#open.keys()]) this.#stopBlock(index);
  }

  /** Reads the start. After a tool pause, some hosts send complete blocks in it, and may end the stream there. */
  #readStart(message: Fields): void {
    this.#readUsage(message.usage);
    // Some hosts send the start twice.
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.#writer.begin(message);
    const blocks = objectsIn(message.content);
    if (blocks.length === 0) return;
    this.#readBlocks(blocks);
    this.#finish(message);
  }

  #readBlocks(blocks: readonly Fields[]): void {
    for (const block of blocks) {
      // A complete call needs a unique key.
      const key = Symbol();
      this.#startBlock(key, block);
      this.#stopBlock(key);
    }
  }

  #startBlock(index: unknown, block: Fields): void {
    this.#stopBlock(index);
    const last = this.#open.get(this.#lastIndex);
    if (last !== undefined && isWhole(last)) this.#stopBlock(this.#lastIndex);
    this.#lastIndex = index;
    this.#writer.completeCalls();
    switch (block.type) {
      case 'text':
        return this.#writer.text(textOf(block.text));
      case 'thinking':
      case 'redacted_thinking': {
        const thinking = textOf(block.thinking);
        this.#writer.beginReasoning();
        this.#writer.reasoning(thinking);
        this.#open.set(index, { kind: 'thinking', block, thinking, signature: textOf(block.signature) });
        return;
      }
      case 'tool_use':
        this.#writer.beginCall(index, block.id, textOf(block.name));
        this.#open.set(index, { kind: 'call', input: block.input, isEmpty: true });
    }
  }

  #continueBlock(index: unknown, delta: Fields): void {
    const open = this.#open.get(index);
    switch (delta.type) {
      case 'text_delta':
        return this.#writer.text(textOf(delta.text));
      case 'thinking_delta':
        if (open?.kind === 'thinking') open.thinking += textOf(delta.thinking);
        return this.#writer.reasoning(textOf(delta.thinking));
      case 'signature_delta':
        if (open?.kind === 'thinking') open.signature += textOf(delta.signature);
        return;
      case 'input_json_delta': {
        const json = textOf(delta.partial_json);
        if (open?.kind !== 'call' || json === '') return;
        open.isEmpty = false;
        return this.#writer.callArguments(index, json);
      }
    }
  }

  #stopBlock(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.kind === 'call') {
      if (open.isEmpty) this.#writer.callArguments(index, JSON.stringify(open.input ?? {}));
      this.#writer.endArguments(index);
    } else if (open?.kind === 'thinking') {
      const { block, thinking, signature } = open;
      this.#writer.sealReasoning(
        block.type === 'thinking' ? { type: 'thinking', thinking, signature } : { type: block.type, data: block.data },
      );
    }
  }

  /** `end`: a message, or the last delta of a stream. */
  #finish(end: Fields): void {
    const { stop_reason: reason, stop_details: details } = end;
    if (typeof reason !== 'string') return;
    this.end();
    if (reason === 'refusal' && isObject(details)) this.#writer.refusal(textOf(details.explanation));
    this.#writer.finish(ENDS.get(reason) ?? 'complete');
  }

  /** Merges usage reports: the last value of each field that is not null. */
  #readUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    this.#usage = {
      ...this.#usage,
      ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null)),
    };
    const { thinking_tokens: reasoning } = objectOf(this.#usage.output_tokens_details);
    this.#writer.usage = usageOf(readUsage(this.#usage), reasoning) ?? this.#writer.usage;
    this.#writer.serviceTier = TIERS.get(this.#usage.service_tier) ?? this.#writer.serviceTier;
  }
}

/** Whether a block is complete once another has started. Some hosts interleave pieces of several calls. */
function isWhole(open: OpenBlock): boolean {
  if (open.kind === 'thinking') return true;
  return open.isEmpty && isObject(open.input) && Object.keys(open.input).length > 0;
}

const ENDS: ReadonlyMap<string, AnswerEnd> = new Map<string, AnswerEnd>([
  ['tool_use', 'calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'filtered'],
]);

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
]);
