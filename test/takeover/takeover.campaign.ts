/** Takeovers at length: under load, and with one of the two gateways killed. */
import { type Course, campaign, show } from '../support/campaign.ts';
import { percentile } from '../support/statistics.ts';
import { until } from '../support/wait.ts';
import { killAtRandom } from './kills.ts';
import { Site } from './site.ts';
import { Flood, outcomesOf, type Sent, send } from './traffic.ts';

const STREAMS = 200;
/** The gateways must not refuse what this machine makes them wait for. */
const OVERLOAD = { overload: { loop_delay: 'off' }, max_connections: 10_000 };
/** The share of the time after which the kills begin. */
const KILLS_BEGIN = 0.5;

/** Returns how often. */
async function takeOverUnderLoad(course: Course, most: number, ratePerS: number): Promise<number> {
  const site = await Site.open(course);
  site.configure(OVERLOAD);
  const gateways = [await site.takeOver()];
  const port = Number(new URL(gateways[0]?.url ?? '').port);
  const { key } = await site.key('app');
  const streams = Array.from({ length: STREAMS }, () => send({ port, key, model: 'host/stream', stream: true }));
  await until(() => site.streams === STREAMS);
  const flood = new Flood({ port, key, model: 'mock/echo' }, ratePerS);
  let takeovers = 0;
  for (; takeovers < most && !course.isOver(KILLS_BEGIN); takeovers++) {
    site.configure({ ...OVERLOAD, threads: course.random.between(1, 3) });
    gateways.push(await site.takeOver());
    site.continueStreams();
  }
  const { sent, seconds } = await flood.stop();
  site.finishStreams();
  const streamed = await Promise.all(streams);
  const statuses = await Promise.all(gateways.slice(0, -1).map(async ({ ended }) => (await ended).status));
  statuses.push((await gateways.at(-1)?.stop()) ?? null);
  const whole = streamed.filter(
    ({ text }) => text.match(/more/g)?.length === takeovers && text.endsWith('data: [DONE]\n\n'),
  );
  course.deviate(
    ...faultsOf(site, [...sent, ...streamed]),
    ...(whole.length === STREAMS ? [] : [`${STREAMS - whole.length} streams are not whole`]),
    ...(statuses.every((status) => status === 0) ? [] : [`the gateways exited with ${statuses.join(', ')}`]),
    ...((await site.place.run(['audit'])).status === 0 ? [] : ['the audit found differences']),
  );
  const sorted = Float64Array.from(sent, ({ ms }) => ms).sort();
  show({
    takeovers,
    'requests, each on a new connection': sent.length,
    'requests a second': sent.length / seconds,
    'open streams, complete at the end': whole.length,
    'median answer, ms': percentile(sorted, 0.5),
    'slowest answer, ms': sorted.at(-1) ?? Number.NaN,
  });
  return takeovers;
}

/** What clients saw that was not answered, and what the journal lacks of what was. */
function faultsOf(site: Site, sent: readonly Sent[]): string[] {
  const { 200: _, ...others } = outcomesOf(sent);
  const rows = new Map<string, number>();
  for (const { request_id: id } of site.journal()) rows.set(id, (rows.get(id) ?? 0) + 1);
  const counts = sent.map(({ requestId = '' }) => rows.get(requestId) ?? 0);
  const lost = counts.filter((count) => count === 0).length;
  const twice = counts.filter((count) => count > 1).length;
  return [
    ...Object.entries(others).map(([outcome, count]) => `${count} requests ended with ${outcome}`),
    ...(lost === 0 ? [] : [`${lost} requests are not in the journal`]),
    ...(twice === 0 ? [] : [`${twice} requests are in the journal more than once`]),
    ...(rows.size === sent.length ? [] : [`${rows.size} rows in the journal for ${sent.length} requests`]),
  ];
}

export default campaign({
  proves: 'a takeover under load refuses, breaks and loses nothing, also if a gateway dies in it',
  amounts: { takeovers: 20, kills: 40 },
  options: { rate: 1_000 },
  minutes: 3,
  async run(course, { takeovers, rate, kills }) {
    const done = await takeOverUnderLoad(course, takeovers, rate);
    const { figures, deviations } = await killAtRandom(course, kills);
    show(figures);
    course.deviate(...deviations);
    return `${done} takeovers, ${figures.kills} kills`;
  },
});
