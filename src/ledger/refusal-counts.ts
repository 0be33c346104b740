/** Counts refusals by month, key and cause, until they are written together. */
import { utcMonth } from '../core/clock.ts';
import type { CountedRefusal } from '../core/settlement.ts';
import type { RefusalCount } from '../state/usage.ts';

interface Count extends RefusalCount {
  requests: number;
  lastAtMs: number;
}

/** Refusals are written in batches, so that a refused client cannot keep the disk busy. */
export class RefusalCounts {
  /** Bounded by the number of keys and reasons. */
  readonly #counts = new Map<string, Count>();

  get isEmpty(): boolean {
    return this.#counts.size === 0;
  }

  count({ keyId, code, reason }: CountedRefusal, wallMs: number): void {
    const month = utcMonth(wallMs);
    const name = `${month} ${keyId} ${code} ${reason}`;
    const count = this.#counts.get(name) ?? { month, keyId, code, reason, requests: 0, lastAtMs: wallMs };
    count.requests++;
    count.lastAtMs = wallMs;
    this.#counts.set(name, count);
  }

  all(): Iterable<RefusalCount> {
    return this.#counts.values();
  }

  clear(): void {
    this.#counts.clear();
  }
}
