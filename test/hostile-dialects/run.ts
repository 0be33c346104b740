/**
 * Composed attacks in the dialects at length: `npm run test:hostile-dialects [-- --attacks N]
 * [--minutes N] [--seed N] [--only ROUND]`. Ends with status 1 if anything passes.
 */
import { parseArgs } from 'node:util';
import { runOnTerminal } from '../hostile/campaign-run.ts';
import { RunScope } from '../support/run-scope.ts';
import { runDialectCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    attacks: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
  },
});

const DEFAULT_ATTACKS = 20_000;

function numberOf(name: 'attacks' | 'minutes' | 'seed' | 'only'): number | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  const number = Number(value);
  if (value.trim() === '' || !(number >= 0)) throw new Error(`--${name} ${value}: expected a number of at least 0`);
  return number;
}

const minutes = numberOf('minutes');
const unasked = minutes === undefined ? DEFAULT_ATTACKS : Number.POSITIVE_INFINITY;
const run = {
  seed: numberOf('seed') as number,
  attacks: numberOf('attacks') ?? unasked,
  minutes,
  onlyRound: numberOf('only'),
};
const scope = new RunScope();
try {
  const passed = await runOnTerminal(run, (options) => runDialectCampaign(scope, options));
  process.exitCode = passed === 0 ? 0 : 1;
} finally {
  await scope.end();
}
