/** Refusals by key and cause: counted in memory, and written together now and then. */

import { utcMonth } from '../../core/clock.ts';
import type { CountedRefusal } from '../../core/settlement.ts';
import type { Sqlite, Statement } from './database.ts';

interface Pending extends CountedRefusal {
  readonly month: string;
  requests: number;
  lastAtMs: number;
}

/** Refusals take no transaction each: who is refused must not be able to keep the disk busy. */
export class RefusalCounts {
  readonly #add: Statement;
  /** Bounded by keys and reasons. */
  #pending = new Map<string, Pending>();

  constructor(database: Sqlite) {
    this.#add = database.prepare(
      `INSERT INTO refusals (month, key_id, code, reason, requests, last_at_ms) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, last_at_ms = max(last_at_ms, excluded.last_at_ms)`,
    );
  }

  get isPending(): boolean {
    return this.#pending.size > 0;
  }

  count(refusal: CountedRefusal, wallMs: number): void {
    const month = utcMonth(wallMs);
    const name = `${month} ${refusal.keyId} ${refusal.code} ${refusal.reason}`;
    const pending = this.#pending.get(name) ?? { ...refusal, month, requests: 0, lastAtMs: wallMs };
    pending.requests++;
    pending.lastAtMs = wallMs;
    this.#pending.set(name, pending);
  }

  /** Writes what was counted. The caller holds the lock, and calls `forget` once it is committed. */
  write(): void {
    for (const { month, keyId, code, reason, requests, lastAtMs } of this.#pending.values()) {
      this.#add.run(month, keyId, code, reason, requests, lastAtMs);
    }
  }

  forget(): void {
    this.#pending.clear();
  }
}
