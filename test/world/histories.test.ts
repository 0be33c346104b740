/** A thousand random histories of the simulated ledger; `npm run prove -- world` plays more, and one again by its seed. */
import { test } from 'node:test';
import { playHistories } from './histories.ts';

const HISTORIES = 1_000;

test('what clients have seen holds over any end of a process, in a thousand histories', async (t) => {
  const seed = Date.now() % 1_000_000;
  t.diagnostic(`seed ${seed}`);
  await playHistories(HISTORIES, seed);
});
