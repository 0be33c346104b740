/**
 * Attacks at length: `npm run test:hostile [-- --attacks N] [--seed N] [--only ROUND] [--what
 * table|composed] [--record]`. `--record` writes how far the attacks of the table came, for
 * docs/attacks.md. Ends with status 1 if anything passes.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RunScope } from '../support/run-scope.ts';
import { runCampaign } from './campaign.ts';
import { runOnTerminal } from './campaign-run.ts';
import { FAMILIES, FIGURES_FILE, type Figures } from './table.ts';
import { Workshop } from './workshop.ts';

const { values } = parseArgs({
  options: {
    attacks: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
    what: { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});

/** Every attack of the table, one after another. Gives how many passed. */
async function runTable(scope: RunScope): Promise<number> {
  const workshop = new Workshop(scope, true);
  const figures: Record<string, number> = {};
  let passed = 0;
  for (const { title, attacks } of FAMILIES) {
    console.log(`\n${title}`);
    for (const attack of attacks) {
      const figure = await attack.run(workshop);
      figures[attack.claim] = Number(figure.toFixed(3));
      if (figure > attack.most) passed++;
      const verdict = figure > attack.most ? 'PASSED' : 'held  ';
      console.log(`${verdict} ${figure.toFixed(3).padStart(10)} of ${attack.most} ${attack.unit}: ${attack.claim}`);
    }
  }
  if (values.record) writeFileSync(FIGURES_FILE, `${JSON.stringify(figures satisfies Figures, undefined, 2)}\n`);
  return passed;
}

function runComposed(scope: RunScope): Promise<number> {
  const run = {
    seed: Number(values.seed),
    attacks: Number(values.attacks),
    minutes: undefined,
    onlyRound: values.only === undefined ? undefined : Number(values.only),
  };
  return runOnTerminal(run, (options) => runCampaign(scope, options));
}

const scope = new RunScope();
try {
  const passedOfTable = values.what === 'composed' || values.only !== undefined ? 0 : await runTable(scope);
  const passedComposed = values.what === 'table' ? 0 : await runComposed(scope);
  if (passedOfTable > 0) console.log(`${passedOfTable} attacks of the table passed`);
  process.exitCode = passedOfTable + passedComposed === 0 ? 0 : 1;
} finally {
  await scope.end();
}
