/** Writes counted refusals, by month, key and cause. */
import type { RefusalCount } from '../usage.ts';
import type { Sqlite, Statement } from './database.ts';

export class RefusalWriter {
  readonly #add: Statement;

  constructor(database: Sqlite) {
    this.#add = database.prepare(
      `INSERT INTO refusals (month, key_id, code, reason, requests, last_at_ms) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET requests = requests + excluded.requests, last_at_ms = max(last_at_ms, excluded.last_at_ms)`,
    );
  }

  /** Adds to the stored counts. The caller holds the lock. */
  write(refusals: Iterable<RefusalCount>): void {
    for (const { month, keyId, code, reason, requests, lastAtMs } of refusals) {
      this.#add.run(month, keyId, code, reason, requests, lastAtMs);
    }
  }
}
