/** A soak test: a hundred streams at a time, with clients that hang up or stop reading, failures of the upstream, and edits. */
import { setTimeout as pause } from 'node:timers/promises';
import { answering, completion } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { campaign, show } from '../support/campaign.ts';
import { GAUGED_SERVE } from '../support/gauge.ts';
import { Place, type TestKey } from '../support/place.ts';
import { descriptorsOf } from '../support/process.ts';
import type { RunScope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';
import { Clients, FAILING_PROVIDERS } from './clients.ts';
import { SoakHost } from './host.ts';
import { SAMPLE_HEAD, type Sample, sampleLine, slope, takeSample } from './samples.ts';

const MINUTE_MS = 60_000;
const MINUTES = 30;
/** A short soak test is sampled more often. */
const SAMPLES_AT_LEAST = 12;
const EDIT_EVERY_MS = 10_000;
const DESCRIPTORS_WITHIN = 5;
/** The largest growth, in MB over ten minutes. Shorter runs show nothing. */
const MOST_SLOPE = 1;
const SLOPE_COUNTS_FROM_MINUTES = 10;
const LIMITS = { rpm: 100_000_000, tpm: 100_000_000_000, concurrency: 10_000 };

async function openSite(scope: RunScope): Promise<Place> {
  const place = await Place.open(scope, {}, GAUGED_SERVE);
  const fields = { models: { model: { input: 0.001, output: 0.002, max_output: 1000 } } };
  const timeouts = { first_byte: '3s', idle: '3s' };
  const bad = Array.from({ length: FAILING_PROVIDERS }, (_, index) => [
    `bad${index + 1}`,
    { ...place.host({ ...fields, timeouts }), base_url: `http://127.0.0.1:${place.upstream.port}/bad${index + 1}/v1` },
  ]);
  await place.reload({
    credit: 'off',
    log: { level: 'error' },
    tiers: { standard: LIMITS },
    providers: { good: place.host(fields), ...Object.fromEntries(bad) },
  });
  return place;
}

/** Triggers what starts with the first request, and with the first token count. */
async function warmUp(place: Place, key: TestKey): Promise<void> {
  place.upstream.follow(answering(completion('hi', { usage: undefined })));
  const answer = await place.chat(key, { model: 'good/model' });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}

/**
 * What the operator does meanwhile, one thing after another; none of it affects requests in flight.
 */
async function edit(place: Place, key: TestKey, other: TestKey, isOver: () => boolean): Promise<number> {
  const rows = [
    ['limits', 'set', key.id, '--rpm', '99999999'],
    ['keys', 'disable', other.id],
    ['credit', 'add', '1'],
    ['keys', 'enable', other.id],
    ['limits', 'set', key.id, '--rpm', 'default'],
  ];
  let edits = 0;
  while (!isOver()) {
    await place.json(...(rows[edits++ % rows.length] as string[]));
    for (let waited = 0; waited < EDIT_EVERY_MS && !isOver(); waited += 100) await pause(100);
  }
  return edits;
}

/** What is left once all clients have stopped. */
async function leftBehind(place: Place, host: SoakHost, pid: number, descriptorsAtStart: number): Promise<string[]> {
  await until(() => countHolds(place.database) === 0 && host.open === 0).catch(() => {});
  const [holds, answering, idle] = [countHolds(place.database), host.open, host.sockets];
  const { in_flight } = await place.snapshot();
  place.upstream.dropConnections();
  const isBack = () => descriptorsOf(pid) - descriptorsAtStart <= DESCRIPTORS_WITHIN;
  await until(isBack).catch(() => {});
  const { status, stdout } = await place.run(['audit']);
  show({
    'open holds': holds,
    'requests in flight': in_flight,
    'of them at the upstream': answering,
    'idle connections to the upstream': idle,
    'descriptors at the start': descriptorsAtStart,
    'descriptors at the end, without these': descriptorsOf(pid),
  });
  return [
    ...(holds === 0 ? [] : [`${holds} holds are open`]),
    ...(in_flight === 0 ? [] : [`${in_flight} requests are in flight`]),
    ...(answering === 0 ? [] : [`the upstream is still answering ${answering} requests`]),
    ...(isBack() ? [] : [`${descriptorsOf(pid)} descriptors, ${descriptorsAtStart} at the start`]),
    ...(status === 0 ? [] : [`the audit: ${stdout}`]),
  ];
}

export default campaign({
  proves: 'failures, disconnects and edits leave nothing behind, and the heap does not grow',
  minutes: 10,
  async run(course) {
    const { minutes = MINUTES, random } = course;
    const place = await openSite(course);
    const [key, other] = [place.key(), place.key()];
    const { pid } = await place.snapshot();
    await warmUp(place, key);
    const host = new SoakHost(place.upstream);
    const samples: Sample[] = [];
    const startedAtMs = performance.now();
    const descriptorsAtStart = descriptorsOf(pid);
    const clients = new Clients(place, key.secret, random);
    let isOver = false;
    const edits = edit(place, key, other, () => isOver);
    console.log(SAMPLE_HEAD);
    const everyMs = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / SAMPLES_AT_LEAST);
    while (performance.now() - startedAtMs < minutes * MINUTE_MS) {
      await pause(everyMs);
      const sample = await takeSample(place, pid, host, startedAtMs);
      samples.push(sample);
      console.log(sampleLine(sample, clients.tally));
    }
    isOver = true;
    await clients.stop();
    course.deviate(...clients.deviations, ...(await leftBehind(place, host, pid, descriptorsAtStart)));
    await place.stop();
    const [heap, memory] = [slope(samples, (sample) => sample.heap), slope(samples, (sample) => sample.memory)];
    if (minutes >= SLOPE_COUNTS_FROM_MINUTES && heap > MOST_SLOPE) course.deviate('the heap grows');
    show({ 'heap grows in ten minutes by, MB': heap, 'memory, MB': memory });
    return `${minutes} minutes, ${await edits} edits`;
  },
});
