/** Random histories of the simulated ledger, the long run: `npm run test:world [-- --histories N] [--seed N]`. */
import { parseArgs } from 'node:util';
import { playHistories } from './histories.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
console.log(`seed ${values.seed}`);
const { histories, ends } = await playHistories(Number(values.histories), Number(values.seed), true);
console.log(`${histories} histories with ${ends} ends of a process: nothing is wrong`);
