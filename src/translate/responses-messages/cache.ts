/** Marks what the host is to cache, as other hosts do it unasked for clients that name a cache. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { type Block, CACHE_CONTROL } from './blocks.ts';
import type { Conversation } from './messages.ts';

/** Hosts take this many marks in a request. */
const MAX_MARKS = 4;

/** Marks blocks of a conversation, and keeps the last of the client's own marks. */
export function markCache({ system, messages }: Conversation, request: Fields): void {
  const blocks = [...system, ...messages.flatMap(({ content }) => content)];
  const own = blocks.filter((block) => 'cache_control' in block);
  if (isImplicit(request)) {
    mark(blocks.at(-1));
    // It ends what all conversations of a client have in common.
    if (own.length === 0) mark(system.at(-1));
  }
  const marked = blocks.filter((block) => 'cache_control' in block);
  for (const block of marked.slice(0, -MAX_MARKS)) delete block.cache_control;
}

function mark(block: Block | undefined): void {
  if (block !== undefined) block.cache_control = CACHE_CONTROL;
}

function isImplicit({ prompt_cache_key: key, prompt_cache_options: options }: Fields): boolean {
  if (isObject(options)) return options.mode !== 'explicit';
  return typeof key === 'string';
}
