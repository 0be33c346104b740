/** A soak test: a hundred streams at a time, with clients that hang up or stop reading, failures of the upstream, and edits. */
import { setTimeout as pause } from 'node:timers/promises';
import { Site, type SiteKey } from '../control/site.ts';
import { answering, completion } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { campaign, show } from '../support/campaign.ts';
import { GAUGED_SERVE } from '../support/gauge.ts';
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

async function openSite(scope: RunScope): Promise<Site> {
  const site = await Site.open(scope, {}, GAUGED_SERVE);
  const fields = { models: { model: { input: 0.001, output: 0.002, max_output: 1000 } } };
  const timeouts = { first_byte: '3s', idle: '3s' };
  const bad = Array.from({ length: FAILING_PROVIDERS }, (_, index) => [
    `bad${index + 1}`,
    { ...site.host({ ...fields, timeouts }), base_url: `http://127.0.0.1:${site.upstream.port}/bad${index + 1}/v1` },
  ]);
  await site.reload({
    credit: 'off',
    log: { level: 'error' },
    tiers: { standard: LIMITS },
    providers: { good: site.host(fields), ...Object.fromEntries(bad) },
  });
  return site;
}

/** Triggers what starts with the first request, and with the first token count. */
async function warmUp(site: Site, key: SiteKey): Promise<void> {
  site.upstream.follow(answering(completion('hi', { usage: undefined })));
  const answer = await site.chat(key, { model: 'good/model' });
  if (answer.status !== 200) throw new Error(await answer.text());
  await answer.text();
}

/**
 * What the operator does meanwhile, one thing after another; none of it affects requests in flight.
 */
async function edit(site: Site, key: SiteKey, other: SiteKey, isOver: () => boolean): Promise<number> {
  const rows = [
    ['limits', 'set', key.id, '--rpm', '99999999'],
    ['keys', 'disable', other.id],
    ['credit', 'add', '1'],
    ['keys', 'enable', other.id],
    ['limits', 'set', key.id, '--rpm', 'default'],
  ];
  let edits = 0;
  while (!isOver()) {
    await site.place.json(...(rows[edits++ % rows.length] as string[]));
    for (let waited = 0; waited < EDIT_EVERY_MS && !isOver(); waited += 100) await pause(100);
  }
  return edits;
}

/** What is left once all clients have stopped. */
async function leftBehind(site: Site, host: SoakHost, pid: number, descriptorsAtStart: number): Promise<string[]> {
  await until(() => countHolds(site.database) === 0 && host.open === 0).catch(() => {});
  const [holds, answering, idle] = [countHolds(site.database), host.open, host.sockets];
  const { in_flight } = await site.snapshot();
  site.upstream.dropConnections();
  const isBack = () => descriptorsOf(pid) - descriptorsAtStart <= DESCRIPTORS_WITHIN;
  await until(isBack).catch(() => {});
  const { status, stdout } = await site.place.run(['audit']);
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
    const site = await openSite(course);
    const [key, other] = [site.key(), site.key()];
    const { pid } = await site.snapshot();
    await warmUp(site, key);
    const host = new SoakHost(site.upstream);
    const samples: Sample[] = [];
    const startedAtMs = performance.now();
    const descriptorsAtStart = descriptorsOf(pid);
    const clients = new Clients(site, key.secret, random);
    let isOver = false;
    const edits = edit(site, key, other, () => isOver);
    console.log(SAMPLE_HEAD);
    const everyMs = Math.min(MINUTE_MS, (minutes * MINUTE_MS) / SAMPLES_AT_LEAST);
    while (performance.now() - startedAtMs < minutes * MINUTE_MS) {
      await pause(everyMs);
      const sample = await takeSample(site, pid, host, startedAtMs);
      samples.push(sample);
      console.log(sampleLine(sample, clients.tally));
    }
    isOver = true;
    await clients.stop();
    course.deviate(...clients.deviations, ...(await leftBehind(site, host, pid, descriptorsAtStart)));
    await site.stop();
    const [heap, memory] = [slope(samples, (sample) => sample.heap), slope(samples, (sample) => sample.memory)];
    if (minutes >= SLOPE_COUNTS_FROM_MINUTES && heap > MOST_SLOPE) course.deviate('the heap grows');
    show({ 'heap grows in ten minutes by, MB': heap, 'memory, MB': memory });
    return `${minutes} minutes, ${await edits} edits`;
  },
});
