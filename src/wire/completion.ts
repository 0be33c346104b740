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
  readonly progress: readonly ChoiceProgress[];
  /** What the upstream calls the completion. */
  readonly id: unknown;
}

/** What an answer or a chunk tells of one choice. */
export interface ChoiceProgress {
  readonly index: number;
  /** Whether it has its finish reason. */
  readonly finished: boolean;
  /** What the model wrote: text, reasoning, refusals and tool calls. */
  readonly written: readonly string[];
}

/** Reads a completion or a chunk. */
export function readAnswer(answer: Readonly<Record<string, unknown>>): AnswerFacts {
  const choices = Array.isArray(answer.choices) ? answer.choices.filter(isObject) : undefined;
  const progress = (choices ?? []).map((choice, position) => {
    const written: string[] = [];
    addWritten(choice.message ?? choice.delta, written);
    addText(choice.text, written);
    const index = typeof choice.index === 'number' ? choice.index : position;
    return { index, finished: typeof choice.finish_reason === 'string' && choice.finish_reason !== '', written };
  });
  return {
    usage: readUsage(answer.usage),
    hasUsage: isObject(answer.usage),
    choices: choices?.length,
    progress,
    id: answer.id,
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

/** Adds all that stands in a message or a delta as the model's own words. */
function addWritten(message: unknown, to: string[]): void {
  if (!isObject(message)) return;
  for (const field of WRITTEN_FIELDS) addText(message[field], to);
  addCall(message.function_call, to);
  if (!Array.isArray(message.tool_calls)) return;
  for (const call of message.tool_calls) if (isObject(call)) addCall(call.function ?? call.custom, to);
}

function addCall(call: unknown, to: string[]): void {
  if (!isObject(call)) return;
  addText(call.name, to);
  addText(call.arguments, to);
  addText(call.input, to);
}

/** Content is a text, or a list of parts that hold one. */
function addText(value: unknown, to: string[]): void {
  if (typeof value === 'string') to.push(value);
  else if (Array.isArray(value)) {
    for (const part of value) if (isObject(part) && typeof part.text === 'string') to.push(part.text);
  }
}

/** Ids are visible ASCII; whatever else an upstream calls its completion, nobody could type it. */
const QUOTABLE_ID = /^[!-~]{1,200}$/;

/** An id that clients can quote, if it is one. */
export function quotableId(id: unknown): string | undefined {
  return typeof id === 'string' && QUOTABLE_ID.test(id) ? id : undefined;
}
