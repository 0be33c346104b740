/** Reads responses and their usage. */
import { isObject, objectOf } from '../../core/json.ts';
import { NO_PARTS, type TokenUsage } from '../../core/usage.ts';
import { type AnswerFacts, countOf, isInputAlone, reportedCalls, together } from '../answer.ts';
import type { Fields } from '../dialect.ts';
import { inputByModality, outputByModality, partsOrNone, tokensByModality } from '../modalities.ts';
import { outputOfItem } from './responses-output.ts';
import { keptIn } from './responses-state.ts';
import { hostCallOfItem } from './responses-tools.ts';

/** Reads a response. A failed one is not an answer, even with an empty output. */
export function readResponse(response: Fields): AnswerFacts {
  const output = Array.isArray(response.output) ? response.output.filter(isObject) : undefined;
  const hasFailed = response.status === 'failed' || Boolean(response.error);
  const finished = response.status === 'completed' || response.status === 'incomplete';
  const toolCalls = (output ?? []).flatMap((item, index) => hostCallOfItem(item, index) ?? []);
  return {
    ...usageFacts(response),
    choices: output === undefined || hasFailed ? undefined : 1,
    progress: output === undefined ? [] : [{ index: 0, finished, ...together(output.map(outputOfItem)) }],
    toolCalls,
    id: response.id,
    serviceTier: response.service_tier,
    model: response.model,
    kept: hasFailed ? undefined : keptIn(response),
  };
}

/** Returns the usage of a response, also of an unfinished one. */
export function usageFacts(response: Fields): Pick<AnswerFacts, 'usage' | 'hasUsage' | 'isInputAlone'> {
  const usage = readUsage(response.usage, response.tool_usage);
  const hasUsage = isObject(response.usage);
  return { usage, hasUsage, isInputAlone: isInputAlone(response.usage, usage, 'output_tokens') };
}

/** Returns the reported usage if it is valid: whole numbers, not all zero. */
function readUsage(usage: unknown, toolUsage: unknown): TokenUsage | undefined {
  if (!isObject(usage)) return undefined;
  const promptTokens = countOf(usage.input_tokens);
  const reported = countOf(usage.output_tokens ?? 0);
  if (promptTokens === undefined || reported === undefined) return undefined;
  const total = countOf(usage.total_tokens) ?? 0;
  const completionTokens = Math.max(reported, total - promptTokens);
  if (promptTokens + completionTokens === 0) return undefined;
  const details = objectOf(usage.input_tokens_details);
  const cachedTokens = Math.min(promptTokens, countOf(details.cached_tokens) ?? 0);
  const lifetimes = objectOf(details.cache_write_tokens_details);
  const written = Math.min(promptTokens - cachedTokens, countOf(details.cache_write_tokens) ?? 0);
  const cacheWrite1hTokens = Math.min(written, countOf(lifetimes.ttl_12h_tokens) ?? 0);
  const parts = partsOrNone({
    ...NO_PARTS,
    cacheWriteTokens: written - cacheWrite1hTokens,
    cacheWrite1hTokens,
    ...inputByModality(
      { promptTokens, cachedTokens, writtenTokens: written },
      tokensByModality(details),
      tokensByModality(details.cached_tokens_details),
    ),
    ...outputByModality(completionTokens, tokensByModality(usage.output_tokens_details)),
    toolCalls: { ...searchesIn(toolUsage), ...reportedCalls(usage.server_side_tool_usage_details, '_calls') },
  });
  return { promptTokens, cachedTokens, completionTokens, ...(parts && { parts }) };
}

/** Returns the searches that OpenAI bills. */
function searchesIn(toolUsage: unknown): Record<string, number> {
  const search = isObject(toolUsage) ? toolUsage.web_search : undefined;
  const count = isObject(search) ? countOf(search.num_requests) : undefined;
  return count === undefined ? {} : { web_search: count };
}
