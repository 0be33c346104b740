/**
 * Disk problems, the long run: `npm run test:disks [-- --rounds N] [--seed N] [--only TEXT]`. Exits
 * with 1 if anything deviates.
 */
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { FAULTS, LOCKED } from './faults.ts';
import { REAL_FAULTS, REAL_START_FAULTS } from './real-disks.ts';
import { Row } from './rows.ts';
import { refusedStart, suffered, toTheEnd, waited } from './work.ts';

const MOST_SHOWN = 20;
const LONG_LOCK_MS = 10_000;
const SHORT_LOCKS_MS = [50, 1_000];

function allRows(): Row[] {
  const live = [...FAULTS, ...REAL_FAULTS];
  return [
    ...SHORT_LOCKS_MS.map((ms) => new Row(`locked for ${ms} ms`, waited(ms))),
    new Row(`locked for ${LONG_LOCK_MS} ms`, suffered(LOCKED, LONG_LOCK_MS)),
    ...live.map((fault) => new Row(fault.what, suffered(fault))),
    ...live.map((fault) => new Row(`${fault.what}, SIGTERM`, toTheEnd(fault))),
    ...[LOCKED, ...REAL_START_FAULTS].map((fault) => new Row(`${fault.what}, start`, refusedStart(fault))),
  ];
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
    },
  });
  console.log(`seed ${values.seed}`);
  const random = new Random(Number(values.seed));
  const rows = allRows().filter(({ name }) => name.includes(values.only));
  if (rows.length === 0) throw new Error(`no case has ${JSON.stringify(values.only)} in its name`);
  let done = 0;
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const row of random.shuffled(rows)) {
      await row.run();
      if (process.stdout.isTTY) process.stdout.write(`\r${++done} of ${rows.length * Number(values.rounds)} cases `);
    }
  }
  if (process.stdout.isTTY) console.log();
  console.log(`worst of ${values.rounds}, in milliseconds`);
  console.log(Row.head);
  for (const row of rows) console.log(row.line);
  const deviations = rows.flatMap((row) => row.deviations);
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  if (deviations.length > MOST_SHOWN) console.error(`and ${deviations.length - MOST_SHOWN} more`);
  console.log(`${rows.length} cases, ${deviations.length} deviations`);
  return deviations.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
