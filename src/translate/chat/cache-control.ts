/** Reads `cache_control` in chat requests, which marks the end of a cached prefix. */
import { isObject } from '../../core/json.ts';
import type { Findings } from '../findings.ts';
import type { CacheMark, Part, Written } from '../request.ts';

const KNOWN: ReadonlySet<string> = new Set(['type', 'ttl']);
const LIFETIMES: readonly unknown[] = [undefined, null, '5m', '1h'];

/** Reads `cache_control`. It affects the price, so unknown forms are refused. */
export function readCacheControl(value: unknown, where: string, findings: Findings): CacheMark | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value) || value.type !== 'ephemeral' || !LIFETIMES.includes(value.ttl)) {
    findings.refuse(`${where}.cache_control`, 'expected {"type": "ephemeral"}, with a ttl of 5m or 1h if any');
    return undefined;
  }
  findings.expectOnly(KNOWN, value, `${where}.cache_control`);
  const ttl = typeof value.ttl === 'string' && { ttl: value.ttl };
  return { value: { type: 'ephemeral', ...ttl }, field: 'cache_control' };
}

/** Applies the `cache_control` of a message to its last part. */
export function withCacheControl(
  parts: readonly Part[],
  value: unknown,
  where: string,
  findings: Findings,
): readonly Part[] {
  const cache = readCacheControl(value, where, findings);
  if (cache === undefined) return parts;
  const last = parts.at(-1);
  if (last !== undefined && last.cache === undefined) return [...parts.slice(0, -1), { ...last, cache }];
  findings.refuse(`${where}.cache_control`, NOTHING_TO_MARK);
  return parts;
}

/** Applies the `cache_control` of an assistant message to its last item. */
export function writtenWithCacheControl(
  written: readonly Written[],
  value: unknown,
  where: string,
  findings: Findings,
): readonly Written[] {
  const last = written.at(-1);
  const others = written.slice(0, -1);
  if (last?.kind === 'parts')
    return [...others, { ...last, parts: withCacheControl(last.parts, value, where, findings) }];
  const cache = readCacheControl(value, where, findings);
  if (cache === undefined) return written;
  if (last?.kind === 'call') return [...others, { ...last, cache }];
  findings.refuse(`${where}.cache_control`, NOTHING_TO_MARK);
  return written;
}

const NOTHING_TO_MARK = 'expected a last part to which it applies, without one of its own';
