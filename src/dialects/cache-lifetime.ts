/** How long a request asks its host to keep what it writes to its prompt cache. */
import { isObject } from '../core/json.ts';
import { foldCase } from '../wire/names.ts';
import type { CacheLifetime, Fields } from './dialect.ts';

/**
 * The longest lifetime that an object under one of these names asks for, in any case and anywhere in a request; undefined if there
 * is none. Anything but the usual one counts as an hour. The recursion is bounded by MAX_JSON_DEPTH.
 */
export function longestLifetime(value: unknown, names: readonly string[], usual: string): CacheLifetime | undefined {
  let longest: CacheLifetime | undefined;
  // The whole of every request is walked: no list is made of it, and places in an array are no names.
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

/** Where the formats of OpenAI say how long. */
const OF_OPENAI = ['prompt_cache_options', 'prompt_cache_breakpoint'];

/** The same in these formats, whose hosts may cache what they like, for half an hour. */
export function longestLifetimeOfOpenAi(fields: Fields): CacheLifetime {
  return longestLifetime(fields, OF_OPENAI, '30m') ?? '5m';
}
