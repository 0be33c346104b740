/**
 * Attacks at length: `npm run test:hostile [-- --attacks N] [--seed N] [--only ROUND] [--what
 * table|composed] [--record]`. `--record` writes how far the attacks of the table came, for
 * docs/security.md. Ends with status 1 if anything passes.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RunScope } from '../support/run-scope.ts';
import { type CampaignResult, runCampaign } from './campaign.ts';
import { NANOS_PER_USD } from './site.ts';
import { FAMILIES, FIGURES_FILE, type Figures } from './table.ts';
import { Workshop } from './workshop.ts';

const MOST_SHOWN = 12;
const MOST_SHOWN_CHARACTERS = 1_500;

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

async function runComposed(scope: RunScope): Promise<number> {
  const [seed, attacks] = [Number(values.seed), Number(values.attacks)];
  const onlyRound = values.only === undefined ? undefined : Number(values.only);
  const startedAtMs = performance.now();
  const onProgress = (done: number, passed: number) => {
    if (process.stdout.isTTY) process.stdout.write(`\r${done} of ${attacks} attacks, ${passed} passed `);
  };
  console.log(`\ncomposed attacks, seed ${seed}`);
  const result = await runCampaign(scope, { seed, attacks, onlyRound, onProgress });
  if (process.stdout.isTTY) console.log();
  showComposed(result, (performance.now() - startedAtMs) / 1000);
  for (const { round, judged, share, tricks, sent } of result.passed.slice(0, MOST_SHOWN)) {
    const text = `--seed ${seed} --only ${round}: ${judged} ${share.toFixed(2)} of 1, ${tricks.join(', ')}\n  ${sent.join('\n  ')}`;
    console.error(text.slice(0, MOST_SHOWN_CHARACTERS));
  }
  return result.passedCount;
}

function showComposed(result: CampaignResult, seconds: number): void {
  const usd = (nanos: number) => (nanos / NANOS_PER_USD).toFixed(2);
  const statuses = [...result.statuses].toSorted(([a], [b]) => a - b);
  const rows: (readonly [name: string, value: string])[] = [
    ['attacks', result.attacks.toLocaleString('en')],
    ['requests', result.requests.toLocaleString('en')],
    ['requests that reached the host', result.served.toLocaleString('en')],
    ...statuses.map(
      ([status, count]) => [`  with status ${status === 0 ? 'none' : status}`, count.toLocaleString('en')] as const,
    ),
    ['billed by the host, USD', usd(result.billedNanos)],
    ['charged, USD', usd(result.chargedNanos)],
    ...[...result.worst].map(([judged, share]) => [`worst of 1: ${judged}`, share.toFixed(3)] as const),
    ['took, s', seconds.toFixed(0)],
    ['passed', result.passedCount.toLocaleString('en')],
  ];
  for (const [name, value] of rows) console.log(name.padEnd(36) + value.padStart(14));
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
