/**
 * Stores the holds of requests in flight for the ledger. The holds of a batch are one row of `hold_batches`. The end of a
 * request deletes no hold: its journal row marks it as ended. Readers use the view `holds`.
 */
import type { Value } from '../../core/layout.ts';
import { HOLD, type HoldRow } from '../journal.ts';
import type { Sqlite, Statement } from './database.ts';

/** Minimum number of ended holds in the table before all rows are replaced with the open holds. */
const LEAST_ENDED = 512;

/** Missing in TypeScript's library. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

export class HoldLog {
  readonly #insert: Statement;
  readonly #clear: Statement;
  /** Unwritten holds of the current batch. */
  #pending: HoldRow[] = [];
  /** Upper bound of the number of holds in the table, open or not. Infinite if unknown: the next `write` then replaces all. */
  #stored = Number.POSITIVE_INFINITY;

  constructor(database: Sqlite) {
    this.#insert = database.prepare('INSERT INTO hold_batches (holds) VALUES (?)');
    this.#clear = database.prepare('DELETE FROM hold_batches');
  }

  /** Adds a new or grown hold. The next `write` stores it. */
  add(hold: HoldRow): void {
    this.#pending.push(hold);
  }

  /** Stores the added holds. `open` returns all open holds, including the added ones; `openCount` is their number. */
  write(openCount: number, open: () => readonly HoldRow[]): void {
    if (this.#stored - openCount > Math.max(LEAST_ENDED, openCount)) return this.#replaceAll(open());
    if (this.#pending.length === 0) return;
    this.#insert.run(textOf(this.#pending));
    this.#stored += this.#pending.length;
    this.#pending = [];
  }

  /** Discards the added holds after a rollback, which may have undone a replacement of all rows. */
  forget(): void {
    this.#stored = Number.POSITIVE_INFINITY;
    this.#pending = [];
  }

  /** Replaces all rows with the open holds. */
  #replaceAll(open: readonly HoldRow[]): void {
    this.#clear.run();
    this.#insert.run(textOf(open));
    this.#stored = open.length;
    this.#pending = [];
  }
}

function textOf(holds: readonly HoldRow[]): string {
  return JSON.stringify(holds.map((hold) => HOLD.values(hold).map(inJson)));
}

function inJson(value: Value): unknown {
  if (typeof value !== 'bigint') return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : rawJSON(String(value));
}
