/** Cache control: where a client of the chat format marks what the host is to cache. */
import { isObject } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import type { Findings } from '../findings.ts';

const KNOWN: ReadonlySet<string> = new Set(['type', 'ttl']);
const LIFETIMES: readonly unknown[] = [undefined, null, '5m', '1h'];

/** The field `cache_control` of a block, to be spread into it. It has a price, so no unknown form passes. */
export function cacheControl(value: unknown, where: string, findings: Findings): Fields {
  if (value === undefined || value === null) return {};
  if (!isObject(value) || value.type !== 'ephemeral' || !LIFETIMES.includes(value.ttl)) {
    findings.refuse(`${where}.cache_control`, 'expected {"type": "ephemeral"}, with a ttl of 5m or 1h if any');
    return {};
  }
  findings.expectOnly(KNOWN, value, `${where}.cache_control`);
  return { cache_control: { type: 'ephemeral', ...(typeof value.ttl === 'string' && { ttl: value.ttl }) } };
}

/** The blocks of a message with its own `cache_control`, which stands at the last of them. */
export function withCacheControl(
  blocks: readonly Fields[],
  value: unknown,
  where: string,
  findings: Findings,
): readonly Fields[] {
  const mark = cacheControl(value, where, findings);
  const last = blocks.at(-1);
  if (!('cache_control' in mark)) return blocks;
  if (last === undefined || UNCACHEABLE.includes(last.type) || 'cache_control' in last) {
    findings.refuse(`${where}.cache_control`, 'expected a last part to which it applies, without one of its own');
    return blocks;
  }
  return [...blocks.slice(0, -1), { ...last, ...mark }];
}

const UNCACHEABLE: readonly unknown[] = ['thinking', 'redacted_thinking'];
