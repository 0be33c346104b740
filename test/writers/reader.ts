/**
 * A reader of the state file in a process of its own: `node reader.ts <state file> <ms> <readers>
 * <milliseconds each>`. It keeps read transactions open for that time, one at a time or overlapping
 * without a gap, prints a line once it reads, and ends by itself or with its parent.
 */

import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';

const [path = '', total = '', readers = '', each = ''] = process.argv.slice(2);
const OPEN_OPTIONS = { readonly: true, timeout: 5_000 };

/** Reads as of one moment, again and again, waiting for its turn each time. */
async function readInTurn(turn: number): Promise<void> {
  const database = new Database(path, OPEN_OPTIONS);
  await pause((turn * Number(each)) / Number(readers));
  while (performance.now() < endsAtMs) {
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM keys').get();
    if (turn === 0) console.log('reading');
    await pause(Math.min(Number(each), endsAtMs - performance.now()));
    database.exec('COMMIT');
  }
  database.close();
}

process.stdin.on('end', () => process.exit()).resume();
const endsAtMs = performance.now() + Number(total);
await Promise.all(Array.from({ length: Number(readers) }, (_, turn) => readInTurn(turn)));
process.exit();
