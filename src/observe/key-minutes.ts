/** The charges and refusals of each key in the last minute. In memory only. */
import type { Nanos } from '../core/money.ts';
import { RecentCounts } from './recent-counts.ts';

/** The last minute, in steps of equal length. The last step is still running. */
export const MINUTE_STEPS = 12;
const STEP_S = 5;
/** The number of remembered keys, by their last use. They take at most 0.9 MB, and a report visits all of them. */
export const MAX_KEYS = 1_024;
/** The number of keys that a worker reports in addition to the requested ones. */
export const MAX_REPORTED = 50;

/** A key in the last minute. */
export interface KeyMinute {
  readonly keyId: string;
  /** Its charges by step, the oldest first. */
  readonly spentNanos: readonly number[];
  readonly refused: number;
}

interface Counts {
  /** Number is exact up to 9 million USD in a step. */
  readonly spentNanos: RecentCounts;
  readonly refused: RecentCounts;
  usedAtS: number;
}

export class KeyMinutes {
  /** In the order of their last use, accurate to a step. */
  readonly #keys = new Map<string, Counts>();

  countSpent(keyId: string, nanos: Nanos, nowS: number): void {
    if (nanos > 0n) this.#of(keyId, nowS).spentNanos.add(nowS, Number(nanos));
  }

  countRefused(keyId: string, nowS: number): void {
    this.#of(keyId, nowS).refused.add(nowS, 1);
  }

  /** The requested keys, then the keys with the highest charges, then with the most refusals. */
  report(keyIds: readonly string[], nowS: number): KeyMinute[] {
    this.#forgetIdle(nowS);
    const all = [...this.#keys].map(([keyId, { spentNanos, refused }]) => {
      return { keyId, spent: spentNanos.total(nowS), refused: refused.total(nowS) };
    });
    const most = all
      .filter(({ spent, refused }) => spent > 0 || refused > 0)
      .sort((a, b) => b.spent - a.spent || b.refused - a.refused)
      .slice(0, MAX_REPORTED);
    return [...new Set([...keyIds, ...most.map(({ keyId }) => keyId)])].flatMap((keyId) => {
      const counts = this.#keys.get(keyId);
      if (counts === undefined) return [];
      return [{ keyId, spentNanos: counts.spentNanos.values(nowS), refused: counts.refused.total(nowS) }];
    });
  }

  #of(keyId: string, nowS: number): Counts {
    const known = this.#keys.get(keyId);
    if (known !== undefined && nowS < known.usedAtS + STEP_S) return known;
    const counts = known ?? {
      spentNanos: new RecentCounts(MINUTE_STEPS, STEP_S),
      refused: new RecentCounts(MINUTE_STEPS, STEP_S),
      usedAtS: nowS,
    };
    counts.usedAtS = nowS;
    this.#keys.delete(keyId);
    if (this.#keys.size >= MAX_KEYS) this.#keys.delete(this.#keys.keys().next().value as string);
    this.#keys.set(keyId, counts);
    return counts;
  }

  #forgetIdle(nowS: number): void {
    for (const [keyId, { usedAtS }] of this.#keys) {
      // One more step, since a key in use moves to the end only once per step.
      if (usedAtS + (MINUTE_STEPS + 1) * STEP_S > nowS) break;
      this.#keys.delete(keyId);
    }
  }
}

/** Adds the reports of several workers, key by key. */
export function mergedKeyMinutes(parts: readonly (readonly KeyMinute[])[]): Map<string, KeyMinute> {
  const sums = new Map<string, KeyMinute>();
  for (const each of parts.flat()) {
    const sum = sums.get(each.keyId);
    sums.set(each.keyId, sum === undefined ? each : addedUp(sum, each));
  }
  return sums;
}

function addedUp({ keyId, spentNanos, refused }: KeyMinute, other: KeyMinute): KeyMinute {
  const sum = spentNanos.map((nanos, step) => nanos + (other.spentNanos[step] ?? 0));
  return { keyId, spentNanos: sum, refused: refused + other.refused };
}
