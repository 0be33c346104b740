/** Marks what the host is to cache, as other hosts do it unasked for clients that name a cache. */
import type { CacheHints } from '../request.ts';
import type { Block } from './messages-parts-writer.ts';
import type { Conversation } from './messages-turns-writer.ts';

/** Hosts take this many marks in a request. */
const MAX_MARKS = 4;

/** Marks blocks of a conversation, and keeps the last of the client's own marks. */
export function markCache({ system, messages }: Conversation, hints: CacheHints): void {
  const blocks = [...system, ...messages.flatMap(({ content }) => content)];
  const own = blocks.filter((block) => 'cache_control' in block);
  if (isImplicit(hints)) {
    mark(blocks.at(-1));
    // It ends what all conversations of a client have in common.
    if (own.length === 0) mark(system.at(-1));
  }
  const marked = blocks.filter((block) => 'cache_control' in block);
  for (const block of marked.slice(0, -MAX_MARKS)) delete block.cache_control;
}

function mark(block: Block | undefined): void {
  if (block !== undefined) block.cache_control = { type: 'ephemeral' };
}

function isImplicit({ key, options }: CacheHints): boolean {
  return options === undefined ? typeof key === 'string' : options.mode !== 'explicit';
}
