/** Refusals by key and cause: counted in memory, and written together now and then. */
import { utcMonth } from '../core/clock.ts';
import type { CountedRefusal } from './ledger.ts';
import type { Sqlite, Statement } from './sqlite.ts';

/** How often a key was refused for one reason in a month. */
export interface RefusalRow {
  readonly code: string;
  readonly reason: string;
  readonly requests: number;
  readonly lastAtMs: number;
}

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

/** The refusals of a key in a month, the most frequent first. */
export function refusalsOf(database: Sqlite, keyId: string, month: string): RefusalRow[] {
  const rows = database
    .prepare(
      'SELECT code, reason, requests, last_at_ms FROM refusals WHERE month = ? AND key_id = ? ORDER BY requests DESC, code, reason',
    )
    .all(month, keyId) as { code: string; reason: string; requests: number; last_at_ms: number }[];
  return rows.map(({ code, reason, requests, last_at_ms: lastAtMs }) => ({ code, reason, requests, lastAtMs }));
}
