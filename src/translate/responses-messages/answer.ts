/** Reads messages, and the events of their streams, into a response. */
import { isObject } from '../../core/json.ts';
import { countOf } from '../../dialects/answer.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { readUsage } from '../../dialects/messages/answer.ts';
import { refusalOf, thinkingBlockOf } from '../chat-messages/answer.ts';
import { mergedUsage, serviceTierOf } from '../chat-messages/usage.ts';
import type { ResponseUsage } from '../responses/response.ts';
import type { HostReader } from '../responses/responses-translation.ts';
import type { CutReason, ResponseWriter } from '../responses/writer.ts';
import { encryptedContent } from './thinking.ts';

/** A block that has begun. Texts need nothing to be kept. */
type OpenBlock =
  /** `input`: the arguments if none are streamed. */
  | { readonly kind: 'call'; readonly input: unknown; isEmpty: boolean }
  | { readonly kind: 'thinking'; readonly block: Fields; thinking: string; signature: string };

export class MessageReader implements HostReader {
  readonly #writer: ResponseWriter;
  /** By the host's index. */
  readonly #open = new Map<unknown, OpenBlock>();
  #usage: Fields = {};
  /** With blocks in its start. */
  #hasStarted = false;

  constructor(writer: ResponseWriter) {
    this.#writer = writer;
  }

  readWhole(message: Fields): void {
    this.#readBlocks(blocksIn(message));
    this.#readUsage(message.usage);
    this.#finish(message);
  }

  #readBlocks(blocks: readonly Fields[]): void {
    for (const block of blocks) {
      // The key of a call that is whole is no other's.
      const key = Symbol();
      this.#startBlock(key, block);
      this.#stopBlock(key);
    }
  }

  /** Hosts that go on where they stopped for a tool send whole blocks with the start, and may end there. */
  #readStart(message: Fields): void {
    this.#readUsage(message.usage);
    const blocks = blocksIn(message);
    // Some hosts send the start twice.
    if (blocks.length === 0 || this.#hasStarted) return;
    this.#hasStarted = true;
    this.#readBlocks(blocks);
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

  #startBlock(index: unknown, block: Fields): void {
    this.#stopAll();
    // Only the last call of an answer can be incomplete.
    this.#writer.endCalls();
    switch (block.type) {
      case 'text':
        return this.#writer.text(stringOf(block.text));
      case 'thinking':
      case 'redacted_thinking':
        this.#writer.beginReasoning();
        this.#writer.reasoning(stringOf(block.thinking));
        this.#open.set(index, {
          kind: 'thinking',
          block,
          thinking: stringOf(block.thinking),
          signature: stringOf(block.signature),
        });
        return;
      case 'tool_use':
        this.#writer.beginCall(index, block.id, stringOf(block.name));
        this.#open.set(index, { kind: 'call', input: block.input, isEmpty: true });
    }
  }

  #continueBlock(index: unknown, delta: Fields): void {
    const open = this.#open.get(index);
    switch (delta.type) {
      case 'text_delta':
        return this.#writer.text(stringOf(delta.text));
      case 'thinking_delta':
        if (open?.kind === 'thinking') open.thinking += stringOf(delta.thinking);
        return this.#writer.reasoning(stringOf(delta.thinking));
      case 'signature_delta':
        if (open?.kind === 'thinking') open.signature += stringOf(delta.signature);
        return;
      case 'input_json_delta':
        if (open?.kind !== 'call' || delta.partial_json === '') return;
        open.isEmpty = false;
        return this.#writer.callArguments(index, stringOf(delta.partial_json));
    }
  }

  #stopBlock(index: unknown): void {
    const open = this.#open.get(index);
    this.#open.delete(index);
    if (open?.kind === 'call' && open.isEmpty) {
      this.#writer.callArguments(index, JSON.stringify(open.input ?? {}));
    } else if (open?.kind === 'thinking') {
      const { block, thinking, signature } = open;
      const whole = thinkingBlockOf({ ...block, thinking, signature });
      if (whole !== undefined) this.#writer.sealReasoning(encryptedContent(whole));
    }
  }

  /** Not every host ends its blocks. */
  #stopAll(): void {
    for (const index of [...this.#open.keys()]) this.#stopBlock(index);
  }

  /** `end`: a message, or the delta that ends a stream. */
  #finish(end: Fields): void {
    if (typeof end.stop_reason !== 'string') return;
    this.#stopAll();
    const refusal = refusalOf(end);
    if (refusal !== undefined) this.#writer.refusal(refusal);
    this.#writer.finish(CUT_REASONS.get(end.stop_reason));
  }

  #readUsage(usage: unknown): void {
    this.#usage = mergedUsage(this.#usage, usage);
    this.#writer.usage = usageOf(this.#usage) ?? this.#writer.usage;
    const tier = serviceTierOf(this.#usage).service_tier;
    if (typeof tier === 'string') this.#writer.serviceTier = tier;
  }
}

const CUT_REASONS: ReadonlyMap<string, CutReason> = new Map<string, CutReason>([
  ['max_tokens', 'max_output_tokens'],
  ['model_context_window_exceeded', 'max_output_tokens'],
  ['refusal', 'content_filter'],
]);

function blocksIn({ content }: Fields): readonly Fields[] {
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** As it is billed. */
function usageOf(usage: Fields): ResponseUsage | undefined {
  const billed = readUsage(usage);
  if (billed === undefined) return undefined;
  const { parts } = billed;
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return {
    input: billed.promptTokens,
    cached: billed.cachedTokens,
    cacheWritten: (parts?.cacheWriteTokens ?? 0) + (parts?.cacheWrite1hTokens ?? 0),
    output: billed.completionTokens,
    reasoning: countOf(details.thinking_tokens) ?? 0,
  };
}
