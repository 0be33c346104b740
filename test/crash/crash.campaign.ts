/** A real `kill -9` at length: at every point, during a start, and under load. Power cuts are in `test/world/`. */
import { isDeepStrictEqual } from 'node:util';
import { type Course, campaign, show } from '../support/campaign.ts';
import { Cycles, openSite } from './cycles.ts';
import { alternating, Deaths, expected } from './deaths.ts';
import { startWithManyHolds } from './many-holds.ts';
import { FATES } from './points.ts';

/** The number of starts with many open holds that are killed. */
const KILLED_STARTS = 6;
/** The share of the time after which no more points come. */
const DEATHS_END = 0.5;

/** At each point, with each kind of answer, alone and among others, while there is time. Returns the number of deaths. */
async function dieAtAllPoints(course: Course): Promise<number> {
  let count = 0;
  for (const kind of ['json', 'stream'] as const) {
    const lives = [...alternating(true), ...alternating(false)];
    const deaths = await Deaths.begin(course, kind, lives[0]);
    for (const [index, { point, amongOthers }] of lives.entries()) {
      const next = course.isOver(DEATHS_END) ? undefined : lives[index + 1];
      const found = await deaths.die(next);
      course.progress(++count, 2 * lives.length, 'deaths');
      const isRight = isDeepStrictEqual(found, expected(FATES[point], kind));
      const name = `${kind}, ${point}, ${amongOthers ? 'among others' : 'alone'}`;
      if (!isRight) course.deviate(`${name}: ${JSON.stringify(found)}`);
      if (next === undefined) break;
    }
    course.deviate(...(await deaths.finish()));
  }
  return count;
}

async function runCycles(course: Course, cycles: number): Promise<number> {
  const run = new Cycles(await openSite(course), course.random, course);
  const { books } = run;
  do {
    await run.run();
    course.progress(run.cycles, cycles, 'cycles');
  } while (run.cycles < cycles && !course.isOver());
  await run.finish();
  course.deviate(...books.deviations);
  show({
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
  });
  return run.cycles;
}

export default campaign({
  proves: 'a `kill -9` at any moment loses nothing and charges nothing twice',
  amounts: { cycles: 300 },
  minutes: 6,
  async run(course, { cycles }) {
    const deaths = await dieAtAllPoints(course);
    const holds = await startWithManyHolds(await openSite(course), course.random, KILLED_STARTS);
    course.deviate(...holds.deviations);
    show({
      'deaths at a named point': deaths,
      'holds open at a start': holds.holds,
      'ready with them after, ms': holds.readyMs,
    });
    return `${deaths} deaths at points, ${await runCycles(course, cycles)} under load`;
  },
});
