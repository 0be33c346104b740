/**
 * The crash tests, the long run: `npm run test:crash [-- --cycles N] [--power-cuts N] [--seed N]`.
 * Exits with 1 if anything deviates.
 */
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { cutTheLog } from './cut-log.ts';
import { Cycles, openSite } from './cycles.ts';
import { alternating, Deaths, expected } from './deaths.ts';
import { startWithManyHolds } from './many-holds.ts';
import { FATES } from './points.ts';
import { cutThePower } from './power-cuts.ts';

const MOST_SHOWN = 20;
/** The number of requests before the log is cut. */
const REQUESTS = 40;
/** The number of starts with many open holds that are killed. */
const KILLED_STARTS = 6;

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '300' },
      'power-cuts': { type: 'string', default: '200' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  const seed = Number(values.seed);
  console.log(`seed ${seed}`);
  const deviations: string[] = [];
  const crashes = await runCycles(scope, seed, Number(values.cycles), deviations);
  const deaths = await dieAtAllPoints(scope, deviations);
  const holds = await startWithManyHolds(await openSite(scope), new Random(seed), KILLED_STARTS);
  const cut = await cutTheLog(await openSite(scope), new Random(seed), REQUESTS);
  const power = await cutThePower(await openSite(scope), new Random(seed), Number(values['power-cuts']));
  deviations.push(...holds.deviations, ...cut.deviations, ...power.deviations);
  showFigures({
    ...crashes,
    'deaths at a named point': deaths,
    'holds open at a start': holds.holds,
    'ready with them after, ms': holds.readyMs,
    'cuts of the log': cut.cuts,
    'journals that they left': cut.journals,
    'power cuts': Number(values['power-cuts']),
    'responses that had ended by then': power.ended,
    'responses that had begun': power.begun,
    'requests lost that nobody had seen': power.lost,
    deviations: deviations.length,
  });
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  if (deviations.length > MOST_SHOWN) console.error(`and ${deviations.length - MOST_SHOWN} more`);
  return deviations.length === 0;
}

async function runCycles(
  scope: RunScope,
  seed: number,
  count: number,
  deviations: string[],
): Promise<Record<string, number>> {
  const run = new Cycles(await openSite(scope), new Random(seed), scope);
  const { books } = run;
  while (run.cycles < count) {
    await run.run();
    if (process.stdout.isTTY)
      process.stdout.write(`\r${run.cycles} of ${count} cycles, ${books.deviations.length} deviations `);
  }
  await run.finish();
  if (process.stdout.isTTY) console.log();
  deviations.push(...books.deviations);
  return {
    cycles: run.cycles,
    'of them with two threads': run.cyclesOfTwoThreads,
    'requests sent': books.requests,
    'complete responses': books.complete,
    missing: books.missing,
    'counted twice': books.countedTwice,
    'requests that the upstream saw': run.seen,
    'journal rows': books.rows.length,
    'rows charged as held': books.heldRows,
    'top-ups that returned': run.topUps,
    'audits without a difference': run.cleanAudits,
    'slowest start, ms': run.slowestStartMs,
  };
}

/**
 * At each point, with each kind of answer, alone and among others. Returns the number of deaths.
 */
async function dieAtAllPoints(scope: RunScope, deviations: string[]): Promise<number> {
  let count = 0;
  for (const kind of ['json', 'stream'] as const) {
    const lives = [...alternating(true), ...alternating(false)];
    const deaths = await Deaths.begin(scope, kind, lives[0]);
    for (const [index, { point, amongOthers }] of lives.entries()) {
      const found = await deaths.die(lives[index + 1]);
      count++;
      if (isDeepStrictEqual(found, expected(FATES[point], kind))) continue;
      deviations.push(`${kind}, ${point}, ${amongOthers ? 'among others' : 'alone'}: ${JSON.stringify(found)}`);
    }
    deviations.push(...(await deaths.finish()));
  }
  return count;
}

function showFigures(figures: Readonly<Record<string, number>>): void {
  for (const [name, figure] of Object.entries(figures)) {
    console.log(`${name.padEnd(32)}${Math.round(figure).toLocaleString('en').padStart(12)}`);
  }
}

await runToEnd(main);
