/** The prompt-cache lifetime that a request asks for. */
import { isObject } from '../core/json.ts';
import { foldCase } from '../wire/names.ts';
import type { CacheLifetime, Fields } from './dialect.ts';

/**
 * Returns the longest lifetime in the objects under one of these names, in any letter case and at any depth; undefined
 * without such an object. A lifetime other than the `usual` one counts as an hour. MAX_JSON_DEPTH bounds the recursion.
 */
export function longestLifetime(value: unknown, names: readonly string[], usual: string): CacheLifetime | undefined {
  let longest: CacheLifetime | undefined;
  // Every request is walked whole, so this allocates no lists. Array indexes are not names.
  if (Array.isArray(value)) {
    for (const item of value) longest = longer(longest, longestLifetime(item, names, usual));
  } else if (isObject(value)) {
    for (const name in value) {
      const item = value[name];
      if (typeof item !== 'object' || item === null) continue;
      const isControl = isObject(item) && names.some((each) => name.length === each.length && foldCase(name) === each);
      longest = longer(longest, isControl ? lifetimeIn(item, usual) : longestLifetime(item, names, usual));
    }
  }
  return longest;
}

function longer(one: CacheLifetime | undefined, other: CacheLifetime | undefined): CacheLifetime | undefined {
  return other === '1h' ? other : (one ?? other);
}

function lifetimeIn(control: Fields, usual: string): CacheLifetime {
  const lifetimes = Object.entries(control).filter(([name]) => foldCase(name) === 'ttl');
  return lifetimes.every(([, ttl]) => ttl === null || ttl === usual) ? '5m' : '1h';
}

/** The cache controls of OpenAI's formats. */
const OF_OPENAI = ['prompt_cache_options', 'prompt_cache_breakpoint'];

/** Returns the lifetime for OpenAI's formats. Their hosts may cache any prompt on their own, usually for half an hour. */
export function longestLifetimeOfOpenAi(fields: Fields): CacheLifetime {
  return longestLifetime(fields, OF_OPENAI, '30m') ?? '5m';
}
