/** Answers in the chat-completions format: what the gateway reads of a completion and of the chunks of a stream. */

import { isObject } from '../core/json.ts';
import { MAX_REPORTED_TOKENS, type TokenUsage } from '../core/usage.ts';

/** What one answer, or one chunk of a stream, tells. */
export interface AnswerFacts {
  /** The usage that the upstream reports, if it is usable. */
  readonly usage: TokenUsage | undefined;
  /** Whether there is an object for usage, usable or not. */
  readonly hasUsage: boolean;
  /** How many choices it holds; undefined where there is no list of them. */
  readonly choices: number | undefined;
  /** The index of each choice in it, and whether it has its finish reason. */
  readonly progress: readonly { readonly index: number; readonly finished: boolean }[];
  /** UTF-8 bytes of what the model wrote: text, reasoning, refusals and tool calls. */
  readonly outputBytes: number;
}

/** Reads a completion or a chunk. */
export function readAnswer(answer: Readonly<Record<string, unknown>>): AnswerFacts {
  const choices = Array.isArray(answer.choices) ? answer.choices.filter(isObject) : undefined;
  let outputBytes = 0;
  const progress = (choices ?? []).map((choice, position) => {
    outputBytes += bytesWritten(choice.message ?? choice.delta) + bytesOfText(choice.text);
    const index = typeof choice.index === 'number' ? choice.index : position;
    return { index, finished: typeof choice.finish_reason === 'string' && choice.finish_reason !== '' };
  });
  return {
    usage: readUsage(answer.usage),
    hasUsage: isObject(answer.usage),
    choices: choices?.length,
    progress,
    outputBytes,
  };
}

/**
 * Usage as reported, if it can be used: whole numbers from 0 to {@link MAX_REPORTED_TOKENS}, not both zero. Output is
 * the larger of `completion_tokens` and `total_tokens - prompt_tokens`, since some hosts leave reasoning out of the
 * first. Anything else counts as not reported, and the gateway counts for itself.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = countOf(usage.prompt_tokens);
  const total = countOf(usage.total_tokens);
  if (promptTokens === undefined) return undefined;
  const reported = countOf(usage.completion_tokens) ?? (usage.completion_tokens === undefined ? 0 : undefined);
  if (reported === undefined) return undefined;
  const completionTokens = Math.max(reported, total === undefined ? 0 : total - promptTokens);
  if (promptTokens + completionTokens === 0) return undefined;
  const details = isObject(usage.prompt_tokens_details) ? usage.prompt_tokens_details : {};
  const cachedTokens = Math.min(promptTokens, countOf(details.cached_tokens) ?? 0);
  return { promptTokens, cachedTokens, completionTokens };
}

function countOf(value: unknown): number | undefined {
  const sound = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_REPORTED_TOKENS;
  return sound ? value : undefined;
}

const WRITTEN_FIELDS = ['content', 'reasoning_content', 'reasoning', 'refusal'] as const;

/** Bytes of all that stands in a message or a delta as the model's own words. */
function bytesWritten(message: unknown): number {
  if (!isObject(message)) return 0;
  let bytes = 0;
  for (const field of WRITTEN_FIELDS) bytes += bytesOfText(message[field]);
  bytes += bytesOfCall(message.function_call);
  if (Array.isArray(message.tool_calls)) {
    for (const call of message.tool_calls) if (isObject(call)) bytes += bytesOfCall(call.function ?? call.custom);
  }
  return bytes;
}

function bytesOfCall(call: unknown): number {
  return isObject(call) ? bytesOfText(call.name) + bytesOfText(call.arguments) + bytesOfText(call.input) : 0;
}

/** Content is a text, or a list of parts that hold one. */
function bytesOfText(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (!Array.isArray(value)) return 0;
  let bytes = 0;
  for (const part of value) if (isObject(part) && typeof part.text === 'string') bytes += Buffer.byteLength(part.text);
  return bytes;
}
