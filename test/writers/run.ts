/**
 * Other processes that use the state file, the long run: `npm run test:writers [-- --edits N]
 * [--typed N] [--reading SECONDS] [--clients N] [--seed N]`. Exits with 1 if anything deviates.
 */
import { parseArgs } from 'node:util';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { median } from '../support/statistics.ts';
import { type ContestResult, runContest } from './contest.ts';
import { LOG_BOUND_BYTES, type LogSizes, type Phase, watchLog } from './log-size.ts';

const MOST_SHOWN = 20;
const WRITERS = 4;
/** How long the load runs before and after the reading. */
const ALONE_MS = 10_000;
/** Readers without a gap: when one ends, the other is halfway through. */
const OVERLAPPING = { readers: 2, eachMs: 2_000 };
const BYTES_PER_MB = 1_000_000;

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      edits: { type: 'string', default: '1000' },
      typed: { type: 'string', default: '20' },
      reading: { type: 'string', default: '60' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  const [seed, clients, edits, typed] = [values.seed, values.clients, values.edits, values.typed].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  const readingMs = Number(values.reading) * 1_000;
  const watched = { seed, clients, readingMs, aloneMs: ALONE_MS };
  console.log(`seed ${seed}`);
  const contest = await runContest(scope, { seed, clients, writers: WRITERS, edits, typed });
  showContest(contest);
  const single = await watchLog(scope, { ...watched, readers: 1, eachMs: readingMs });
  showSizes(`a reader of ${values.reading} s`, single);
  const overlapping = await watchLog(scope, { ...watched, ...OVERLAPPING });
  showSizes('readers without a gap', overlapping);
  const deviations = [contest, single, overlapping].flatMap((result) => result.deviations);
  for (const { after } of [single, overlapping]) {
    const bytes = after.sizes.at(-1) ?? 0;
    if (bytes > LOG_BOUND_BYTES) deviations.push(`the log still has ${bytes} bytes after the readers have gone`);
  }
  show({ deviations: deviations.length });
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  if (deviations.length > MOST_SHOWN) console.error(`and ${deviations.length - MOST_SHOWN} more`);
  return deviations.length === 0;
}

function showContest({ editsMs, typedMs, seconds, served, refused, requestsMs }: ContestResult): void {
  show({
    edits: editsMs.length,
    'median edit, ms': median(editsMs),
    'slowest edit, ms': slowest(editsMs),
    'edits that were processes': typedMs.length,
    'median of these, ms': median(typedMs),
    'slowest of these, ms': slowest(typedMs),
    'all edits took, s': seconds,
    'requests served meanwhile': served,
    'requests refused meanwhile': refused,
    'slowest request, ms': slowest(requestsMs),
  });
}

function showSizes(what: string, { before, reading, after }: LogSizes): void {
  console.log(`\n${what}`);
  showPhase('before', before);
  showPhase('meanwhile', reading);
  showPhase('afterwards', after);
  const growth = ((reading.sizes.at(-1) ?? 0) - (before.sizes.at(-1) ?? 0)) / reading.sizes.length;
  show({ 'the log grew each second, MB': growth / BYTES_PER_MB });
}

function showPhase(when: string, { sizes, answersPerSecond, p50Ms, p99Ms, slowestMs }: Phase): void {
  show({
    [`log ${when} at most, MB`]: Math.max(...sizes) / BYTES_PER_MB,
    [`log ${when} at last, MB`]: (sizes.at(-1) ?? 0) / BYTES_PER_MB,
    [`answers a second ${when}`]: answersPerSecond,
    [`median answer ${when}, ms`]: p50Ms,
    [`99 % of answers ${when}, ms`]: p99Ms,
    [`slowest answer ${when}, ms`]: slowestMs,
  });
}

function slowest(milliseconds: readonly number[]): number {
  return milliseconds.reduce((most, each) => Math.max(most, each), 0);
}

function show(figures: Readonly<Record<string, number>>): void {
  for (const [name, figure] of Object.entries(figures)) {
    const shown = figure.toLocaleString('en', { maximumFractionDigits: figure < 10 ? 1 : 0 });
    console.log(`${name.padEnd(32)}${shown.padStart(12)}`);
  }
}

await runToEnd(main);
