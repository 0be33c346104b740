/** What a confirmation says of a key, so that nobody acts on the wrong one. Pure. */
import { ago, count, usd } from '../operator/format.ts';
import type { StoredKey } from './model.ts';

export function keyFacts({ month, lastUsedMs }: StoredKey, nowMs: number): readonly (readonly [string, string])[] {
  return [
    ['this month', `${count(month.requests)} requests, ${usd(month.costNanos)} USD`],
    ['last used', lastUsedMs === undefined ? 'never' : ago((nowMs - lastUsedMs) / 1_000)],
  ];
}
