/** Extracts usage and progress from a completion or a stream chunk. */

import { isObject, objectOf } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage, type UsageParts } from '../../core/usage.ts';
import { type AnswerFacts, countOf, isInputAlone, reportedCalls } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { inputByModality, outputByModality, partsOrNone, tokensByModality } from '../modalities.ts';
import { readOutput } from './chat-output.ts';

export function readCompletion(answer: Fields): AnswerFacts {
  return readChoices(answer, ({ message, delta }) => message ?? delta);
}

/** Reads a chunk. `delta` takes precedence, since some hosts also repeat the whole text in `message`. */
export function readChunk(chunk: Fields): AnswerFacts {
  return readChoices(chunk, ({ message, delta }) => delta ?? message);
}

/** `messageOf`: returns the message or delta of a choice. */
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
 * Returns the reported usage if it is valid: whole numbers from 0 to MAX_REPORTED_TOKENS, not both zero. Output is the
 * larger of `completion_tokens` and `total_tokens - prompt_tokens`, since some hosts omit reasoning from the former.
 * Otherwise undefined, and the gateway counts the tokens itself.
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
  const parts = readParts(usage, { promptTokens, cachedTokens, completionTokens });
  return { promptTokens, cachedTokens, completionTokens, ...(parts && { parts }) };
}

/** Returns the cached tokens under OpenAI's name, or else under DeepSeek's or Moonshot's. */
function readCached(usage: Readonly<Record<string, unknown>>): number {
  const { cached_tokens: ofOpenAI } = objectOf(usage.prompt_tokens_details);
  return countOf(ofOpenAI ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens) ?? 0;
}

/** Returns the reported parts with separate prices, limited to the remaining tokens. */
function readParts(
  usage: Readonly<Record<string, unknown>>,
  { promptTokens, cachedTokens, completionTokens }: TokenUsage,
): UsageParts | undefined {
  const details = objectOf(usage.prompt_tokens_details);
  const cacheWriteTokens = Math.min(promptTokens - cachedTokens, countOf(details.cache_write_tokens) ?? 0);
  return partsOrNone({
    ...NO_PARTS,
    cacheWriteTokens,
    ...inputByModality(
      { promptTokens, cachedTokens, writtenTokens: cacheWriteTokens },
      tokensByModality(details),
      tokensByModality(details.cached_tokens_details),
    ),
    ...outputByModality(completionTokens, tokensByModality(usage.completion_tokens_details)),
    // OpenRouter reports these.
    toolCalls: reportedCalls(usage.server_tool_use, '_requests'),
  });
}
