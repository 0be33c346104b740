/**
 * A process that tops the account up again and again until it is killed: `node top-up.ts <state
 * file> <name>`. It prints the note of each entry once the entry has returned. It ends when its
 * parent does.
 */
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';

const PAUSE_MS = 8;
const STDOUT = 1;

const [path = '', name = ''] = process.argv.slice(2);
process.stdin.on('end', () => process.exit()).resume();
const account = bookOf(openDatabase(path).database).account;
for (let number = 1; ; number++) {
  const note = `${name}-${number}`;
  if (account.enter(BigInt(number), note, Date.now()) === undefined) throw new Error('the balance is out of range');
  writeSync(STDOUT, `${note}\n`);
  await pause(PAUSE_MS);
}
