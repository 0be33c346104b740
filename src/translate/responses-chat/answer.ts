/** Reads chat completions and chunks of them into a response. */
import { isObject } from '../../core/json.ts';
import { countOf } from '../../dialects/answer.ts';
import { readUsage } from '../../dialects/chat/answer.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { CUT_SHORT } from '../messages-chat/chat-output.ts';
import type { ResponseUsage } from '../responses/response.ts';
import type { HostReader } from '../responses/responses-translation.ts';
import type { CutReason, ResponseWriter } from '../responses/writer.ts';

export class CompletionReader implements HostReader {
  readonly #writer: ResponseWriter;
  /** The host's ids of the calls that have begun, by their keys. */
  readonly #callIds = new Map<unknown, unknown>();
  /** The call to which pieces without an index belong. */
  #lastKey: unknown;

  constructor(writer: ResponseWriter) {
    this.#writer = writer;
  }

  readWhole(completion: Fields): void {
    this.#read(completion, ['message', 'delta']);
  }

  /** Some hosts repeat all that is written so far beside what is new. */
  readEvent(chunk: Fields): void {
    this.#read(chunk, ['delta', 'message']);
  }

  /** `names`: of the field that holds what is written; the first that is there counts. */
  #read(answer: Fields, names: readonly ('message' | 'delta')[]): void {
    this.#writer.usage = usageOf(answer.usage) ?? this.#writer.usage;
    if (typeof answer.service_tier === 'string') this.#writer.serviceTier = answer.service_tier;
    // A responses request has one choice.
    const [choice] = listOf(answer.choices);
    if (choice === undefined) return;
    const logprobs = isObject(choice.logprobs) ? listOf(choice.logprobs.content) : [];
    const name = names.find((each) => isObject(choice[each]));
    if (name !== undefined) this.#readMessage(choice[name] as Fields, logprobs, name === 'message');
    const { finish_reason: reason } = choice;
    if (typeof reason === 'string' && reason !== '') this.#writer.finish(cutReasonOf(reason));
  }

  #readMessage(message: Fields, logprobs: readonly Fields[], isWhole: boolean): void {
    // Some hosts send the same text in both fields.
    const reasoning = [message.reasoning_content, message.reasoning].find((text) => typeof text === 'string');
    if (typeof reasoning === 'string') this.#writer.reasoning(reasoning);
    this.#readContent(message.content, logprobs);
    if (typeof message.refusal === 'string') this.#writer.refusal(message.refusal);
    for (const { type, url_citation: citation } of listOf(message.annotations)) {
      if (type === 'url_citation' && isObject(citation)) this.#writer.annotation({ type, ...citation });
    }
    for (const call of listOf(message.tool_calls)) this.#readCall(call, isWhole);
  }

  /** A string, or an array in which there may be thinking. */
  #readContent(content: unknown, logprobs: readonly Fields[]): void {
    if (typeof content === 'string') this.#writer.text(content, logprobs);
    for (const part of listOf(content)) {
      if (typeof part.text === 'string') this.#writer.text(part.text, logprobs);
      for (const { text } of listOf(part.thinking)) if (typeof text === 'string') this.#writer.reasoning(text);
    }
  }

  /** Reads a call, or a piece of one. */
  #readCall({ index, id, function: definition }: Fields, isWhole: boolean): void {
    const { name, arguments: given } = isObject(definition) ? definition : {};
    const json = typeof given === 'string' ? given : isObject(given) ? JSON.stringify(given) : '';
    const hasName = typeof name === 'string' && name !== '';
    const key = this.#keyOf(index, hasName, isWhole);
    if (!hasName && json === '') return;
    // Some hosts give all calls the same index.
    const isOther = hasName && isText(id) && this.#callIds.get(key) !== id;
    if (isOther || !this.#writer.hasCall(key)) {
      this.#writer.beginCall(key, id, hasName ? name : '');
      this.#callIds.set(key, id);
    }
    this.#writer.callArguments(key, json);
  }

  #keyOf(index: unknown, hasName: boolean, isWhole: boolean): unknown {
    const isIndexed = typeof index === 'number' && !isWhole;
    if (isIndexed) this.#lastKey = index;
    else if (hasName) this.#lastKey = Symbol();
    return this.#lastKey;
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function cutReasonOf(finishReason: string): CutReason {
  if (CUT_SHORT.includes(finishReason)) return 'max_output_tokens';
  return finishReason === 'content_filter' ? 'content_filter' : undefined;
}

/** As it is billed. */
function usageOf(usage: unknown): ResponseUsage | undefined {
  const billed = readUsage(usage);
  if (!isObject(usage) || billed === undefined) return undefined;
  const details = isObject(usage.completion_tokens_details) ? usage.completion_tokens_details : {};
  return {
    input: billed.promptTokens,
    cached: billed.cachedTokens,
    cacheWritten: billed.parts?.cacheWriteTokens ?? 0,
    output: billed.completionTokens,
    reasoning: countOf(details.reasoning_tokens) ?? 0,
  };
}
