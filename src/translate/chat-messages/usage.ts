/** Translates usage: what clients read is what the gateway bills. */
import { isObject } from '../../core/json.ts';
import { countOf } from '../../dialects/answer.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { readUsage } from '../../dialects/messages/answer.ts';

/** The usage for the client; undefined if the host has reported none that is usable. */
export function usageOf(usage: unknown): Fields | undefined {
  const read = readUsage(usage);
  if (read === undefined || !isObject(usage)) return undefined;
  const { promptTokens, cachedTokens, completionTokens, parts } = read;
  const written = (parts?.cacheWriteTokens ?? 0) + (parts?.cacheWrite1hTokens ?? 0);
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const reasoning = countOf(details.thinking_tokens);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: written },
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** What a stream has reported so far, with what an event adds: of each field, the last that is not null. */
export function mergedUsage(total: Fields, update: unknown): Fields {
  if (!isObject(update)) return total;
  return { ...total, ...Object.fromEntries(Object.entries(update).filter(([, value]) => value !== null)) };
}

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ['standard', 'default'],
  ['priority', 'priority'],
]);

/** The field `service_tier` of an answer, to be spread into it. */
export function serviceTierOf(usage: unknown): Fields {
  const tier = isObject(usage) ? TIERS.get(usage.service_tier) : undefined;
  return tier === undefined ? {} : { service_tier: tier };
}
