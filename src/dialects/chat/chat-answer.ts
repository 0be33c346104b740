/** Extracts what the gateway needs from a completion or a stream chunk: usage and progress. */

import { isObject, objectOf } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage, type UsageParts } from '../../core/usage.ts';
import { type AnswerFacts, countOf, isInputAlone, reportedCalls } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { readOutput } from './chat-output.ts';

export function readCompletion(answer: Fields): AnswerFacts {
  return readChoices(answer, ({ message, delta }) => message ?? delta);
}

/** Reads a chunk. Some hosts repeat all that is written so far beside what is new. */
export function readChunk(chunk: Fields): AnswerFacts {
  return readChoices(chunk, ({ message, delta }) => delta ?? message);
}

/** `messageOf`: what a choice holds of a message. */
function readChoices(answer: Fields, messageOf: (choice: Fields) => unknown): AnswerFacts {
  const choices = Array.isArray(answer.choices) ? answer.choices.filter(isObject) : undefined;
  const progress = (choices ?? []).map((choice, position) => {
    const output = readOutput(messageOf(choice), choice.text);
    const index = typeof choice.index === 'number' ? choice.index : position;
    return { ...output, index, finished: typeof choice.finish_reason === 'string' && choice.finish_reason !== '' };
  });
  const usage = readUsage(answer.usage);
  return {
    usage,
    hasUsage: isObject(answer.usage),
    isInputAlone: isInputAlone(answer.usage, usage, 'completion_tokens'),
    choices: choices?.length,
    progress,
    id: answer.id,
    serviceTier: answer.service_tier,
    model: answer.model,
  };
}

/**
 * The reported usage, if it is usable: whole numbers from 0 to MAX_REPORTED_TOKENS, not
 * both zero. Output is the larger of `completion_tokens` and `total_tokens - prompt_tokens`, since
 * some hosts omit reasoning from the former. Otherwise undefined, and the gateway counts the tokens
 * itself.
 */
export function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = countOf(usage.prompt_tokens);
  const total = countOf(usage.total_tokens);
  const reported = countOf(usage.completion_tokens ?? 0);
  if (promptTokens === undefined || reported === undefined) return undefined;
  const completionTokens = Math.max(reported, total === undefined ? 0 : total - promptTokens);
  if (promptTokens + completionTokens === 0) return undefined;
  const cachedTokens = Math.min(promptTokens, readCached(usage));
  const parts = readParts(usage, { promptTokens: promptTokens - cachedTokens, completionTokens });
  return { promptTokens, cachedTokens, completionTokens, ...(parts !== undefined && { parts }) };
}

/** What came from the cache: by OpenAI's name, or where that is missing by DeepSeek's or Moonshot's. */
function readCached(usage: Readonly<Record<string, unknown>>): number {
  const { cached_tokens: ofOpenAI } = objectOf(usage.prompt_tokens_details);
  return countOf(ofOpenAI ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens) ?? 0;
}

/** The reported parts that have prices of their own, within the tokens that are left for them. */
function readParts(
  usage: Readonly<Record<string, unknown>>,
  left: { readonly promptTokens: number; readonly completionTokens: number },
): UsageParts | undefined {
  const input = objectOf(usage.prompt_tokens_details);
  const output = objectOf(usage.completion_tokens_details);
  const cacheWriteTokens = Math.min(left.promptTokens, countOf(input.cache_write_tokens) ?? 0);
  const audioInputTokens = Math.min(left.promptTokens - cacheWriteTokens, countOf(input.audio_tokens) ?? 0);
  const audioOutputTokens = Math.min(left.completionTokens, countOf(output.audio_tokens) ?? 0);
  // OpenRouter's.
  const toolCalls = reportedCalls(usage.server_tool_use, '_requests');
  const hasCalls = Object.keys(toolCalls).length > 0;
  if (cacheWriteTokens + audioInputTokens + audioOutputTokens === 0 && !hasCalls) return undefined;
  return { ...NO_PARTS, cacheWriteTokens, audioInputTokens, audioOutputTokens, toolCalls };
}
