/** Random commands against a naive ledger and both stores, at length. */
import { campaign, chosen } from '../support/campaign.ts';
import type { OpenStore } from './bench.ts';
import { openLocalStore } from './local-store.ts';
import { compareWithNaiveLedger } from './model.ts';
import { SharedDatabase } from './shared-store.ts';

/** So many histories have a seed of their own. */
const BATCH = 50;

export default campaign({
  proves: 'a naive ledger decides as the ledger does, on a state file and on PostgreSQL',
  amounts: { runs: 500 },
  options: { only: '' },
  minutes: 4,
  async run(course, { runs, only }) {
    const database = await SharedDatabase.start();
    course.after(() => database.stop());
    const stores: readonly [string, OpenStore][] = [
      ['local', openLocalStore],
      ['shared', database.openStore],
    ];
    const parts = chosen(stores, only, ([name]) => name);
    let done = 0;
    for (const [index, [name, openStore]] of parts.entries()) {
      const isOver = () => course.isOver((index + 1) / parts.length);
      let left = runs;
      for (let seed = course.seed; left > 0 && !isOver(); seed++) {
        const count = Math.min(BATCH, left);
        await compareWithNaiveLedger(openStore, count, seed);
        left -= count;
        done += count;
        course.progress(runs - left, runs, `histories, ${name}`);
      }
    }
    return `${done} histories`;
  },
});
