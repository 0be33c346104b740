/** Other processes that use the state file, at length. */
import { campaign, show } from '../support/campaign.ts';
import { median } from '../support/statistics.ts';
import { type ContestResult, runContest } from './contest.ts';
import { LOG_BOUND_BYTES, type LogSizes, type Phase, watchLog } from './log-size.ts';

const WRITERS = 4;
/** How long the load runs before and after the reading. */
const ALONE_MS = 10_000;
/** Readers without a gap: when one ends, the other is halfway through. */
const OVERLAPPING = { readers: 2, eachMs: 2_000 };
const BYTES_PER_MB = 1_000_000;

export default campaign({
  proves: 'edits of other processes are in force at once, and readers leave the log bounded',
  options: { edits: 1_000, typed: 20, reading: 60, clients: 32 },
  minutes: 4,
  async run(course, { edits, typed, reading, clients }) {
    const { seed } = course;
    const readingMs = reading * 1_000;
    const watched = { seed, clients, readingMs, aloneMs: ALONE_MS };
    const contest = await runContest(course, { seed, clients, writers: WRITERS, edits, typed });
    showContest(contest);
    course.deviate(...contest.deviations);
    for (const [what, readers] of [
      [`a reader of ${reading} s`, { readers: 1, eachMs: readingMs }],
      ['readers without a gap', OVERLAPPING],
    ] as const) {
      const sizes = await watchLog(course, { ...watched, ...readers });
      showSizes(what, sizes);
      course.deviate(...sizes.deviations);
      const bytes = sizes.after.sizes.at(-1) ?? 0;
      if (bytes > LOG_BOUND_BYTES) course.deviate(`the log still has ${bytes} bytes after ${what}`);
    }
    return `${contest.editsMs.length + contest.typedMs.length} edits`;
  },
});

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
