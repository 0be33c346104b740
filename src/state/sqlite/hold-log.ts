/**
 * The holds of requests in flight, as the ledger writes them. The holds of a batch are one row of `hold_batches`; the end of a
 * request deletes nothing, since its row in the journal shows that the request has ended. Readers use the view `holds`.
 */
import type { Value } from '../../core/layout.ts';
import { HOLD, type HoldRow } from '../journal.ts';
import type { Sqlite, Statement } from './database.ts';

/** The least number of ended holds in the table for which the open ones are written again in place of all rows. */
const LEAST_ENDED = 512;

/** TypeScript's library does not declare it yet. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

export class HoldLog {
  readonly #insert: Statement;
  readonly #clear: Statement;
  /** Holds of the current batch that are not written yet. */
  #pending: HoldRow[] = [];
  /** Upper bound of the number of holds in the table, open or not. Infinite if unknown: the next `write` then replaces all. */
  #stored = Number.POSITIVE_INFINITY;

  constructor(database: Sqlite) {
    this.#insert = database.prepare('INSERT INTO hold_batches (holds) VALUES (?)');
    this.#clear = database.prepare('DELETE FROM hold_batches');
  }

  /** Adds a hold that was taken or has grown. The next `write` stores it. */
  add(hold: HoldRow): void {
    this.#pending.push(hold);
  }

  /** Stores the added holds. `open` returns all open holds, of which there are `openCount`, the added ones included. */
  write(openCount: number, open: () => readonly HoldRow[]): void {
    if (this.#stored - openCount > Math.max(LEAST_ENDED, openCount)) return this.#replaceAll(open());
    if (this.#pending.length === 0) return;
    this.#insert.run(textOf(this.#pending));
    this.#stored += this.#pending.length;
    this.#pending = [];
  }

  /** Discards the added holds: the transaction was rolled back, and with it perhaps a replacement of all rows. */
  forget(): void {
    this.#stored = Number.POSITIVE_INFINITY;
    this.#pending = [];
  }

  /** Stores the open holds in place of everything in the table. */
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
