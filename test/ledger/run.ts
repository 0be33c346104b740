/**
 * Random commands against both stores and a naive ledger, the long run: `npm run test:ledger [--
 * --runs N] [--seed N] [--only local|shared]`. Exits with 1 at the first history that deviates.
 */
import { parseArgs } from 'node:util';
import type { OpenStore } from './bench.ts';
import { openLocalStore } from './local-store.ts';
import { compareWithNaiveLedger } from './model.ts';
import { SharedDatabase } from './shared-store.ts';

async function compare(name: string, openStore: OpenStore, runs: number, seed: number): Promise<void> {
  const startedAtMs = performance.now();
  await compareWithNaiveLedger(openStore, runs, seed);
  console.log(`${name}: ${runs} histories agree, in ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '500' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      only: { type: 'string', default: '' },
    },
  });
  const [runs, seed] = [Number(values.runs), Number(values.seed)];
  console.log(`seed ${seed}`);
  if (values.only !== 'shared') await compare('local', openLocalStore, runs, seed);
  if (values.only === 'local') return;
  const database = await SharedDatabase.start();
  try {
    await compare('shared', database.openStore, runs, seed);
  } finally {
    await database.stop();
  }
}

await main();
