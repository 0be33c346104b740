/**
 * Fuzzing, long form: `npm run test:fuzz [-- --count N] [--seed N] [--what
 * requests|answers|intakes|servers] [--only CASE]`. Exits with status 1 if anything deviates.
 */
import { parseArgs } from 'node:util';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { aftermathOf } from './aftermath.ts';
import { AnswerCampaign } from './answer-campaign.ts';
import { type CampaignResult, runCampaign } from './campaign.ts';
import { IntakeCampaign } from './intake-campaign.ts';
import { RequestCampaign } from './request-campaign.ts';
import { ServerCampaign } from './server-campaign.ts';
import { openFuzzSite } from './site.ts';

const MOST_SHOWN = 20;

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '100000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      what: { type: 'string' },
      only: { type: 'string' },
    },
  });
  const [seed, count] = [Number(values.seed), Number(values.count)];
  const only = values.only === undefined ? undefined : Number(values.only);
  console.log(`seed ${seed}`);
  const fuzz = await openFuzzSite(scope);
  const answers = new AnswerCampaign(fuzz, seed);
  const all = [new RequestCampaign(fuzz, seed), answers, new IntakeCampaign(seed), new ServerCampaign(seed)];
  const campaigns = all.filter(({ name }) => name === (values.what ?? name));
  if (campaigns.length === 0) throw new Error(`there is no campaign ${values.what}`);
  const deviations: string[] = [];
  for (const campaign of campaigns) {
    const result = await runCampaign(campaign, { seed, count, only, onProgress: progressOf(campaign.name, count) });
    showResult(result);
    deviations.push(...result.deviations);
  }
  const aftermath = await aftermathOf(fuzz);
  deviations.push(...aftermath.deviations);
  show({
    '502 without reaching the host': answers.unasked,
    'journal rows': aftermath.journalRows,
    'open holds at the end': aftermath.openHolds,
    'more descriptors than at the start': aftermath.descriptors,
    deviations: deviations.length,
  });
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 4_000));
  if (deviations.length > MOST_SHOWN) console.error(`and ${deviations.length - MOST_SHOWN} more`);
  return deviations.length === 0;
}

function progressOf(name: string, count: number): (done: number) => void {
  if (!process.stdout.isTTY) return () => {};
  return (done) => {
    if (done % 100 === 0) process.stdout.write(`\r${name}: ${done} of ${count} `);
  };
}

function showResult({ name, cases, answers, statuses, seconds }: CampaignResult): void {
  if (process.stdout.isTTY) console.log();
  show({ [`mutated ${name}`]: cases, 'took, s': Math.round(seconds), 'responses of the gateway': answers });
  const counts = [...statuses].toSorted(([a], [b]) => a - b);
  show(Object.fromEntries(counts.map(([status, count]) => [`  with status ${status}`, count])));
}

function show(figures: Readonly<Record<string, number>>): void {
  for (const [name, figure] of Object.entries(figures)) {
    console.log(name.padEnd(36) + figure.toLocaleString('en').padStart(12));
  }
}

await runToEnd(main);
