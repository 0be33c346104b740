/**
 * Takeovers, the long run: `npm run test:takeover [-- --takeovers N] [-- --rate N] [-- --kills N] [-- --seed N]`. Exits
 * with 1 if a request is refused, lost or counted twice, or a stream breaks.
 */
import { parseArgs } from 'node:util';
import { Random } from '../support/random.ts';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { percentile } from '../support/statistics.ts';
import { until } from '../support/wait.ts';
import { killAtRandom } from './kills.ts';
import { Site } from './site.ts';
import { Flood, outcomesOf, type Sent, send } from './traffic.ts';

const STREAMS = 200;
/** The gateways must not refuse what this machine makes them wait for. */
const OVERLOAD = { overload: { loop_delay: 'off' }, max_connections: 10_000 };
const MOST_SHOWN = 20;

interface Findings {
  readonly figures: Record<string, number | string>;
  readonly deviations: readonly string[];
}

async function takeOverUnderLoad(scope: RunScope, takeovers: number, ratePerS: number): Promise<Findings> {
  const site = await Site.open(scope);
  site.configure(OVERLOAD);
  const gateways = [await site.takeOver()];
  const port = Number(new URL(gateways[0]?.url ?? '').port);
  const { key } = await site.key('app');
  const streams = Array.from({ length: STREAMS }, () => send({ port, key, model: 'host/stream', stream: true }));
  await until(() => site.streams === STREAMS);
  const flood = new Flood({ port, key, model: 'mock/echo' }, ratePerS);
  const random = new Random(takeovers);
  for (let count = 0; count < takeovers; count++) {
    site.configure({ ...OVERLOAD, threads: random.between(1, 3) });
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
  const deviations = [
    ...faultsOf(site, [...sent, ...streamed]),
    ...(whole.length === STREAMS ? [] : [`${STREAMS - whole.length} streams are not whole`]),
    ...(statuses.every((status) => status === 0) ? [] : [`the gateways exited with ${statuses.join(', ')}`]),
    ...((await site.place.run(['audit'])).status === 0 ? [] : ['the audit found differences']),
  ];
  const sorted = Float64Array.from(sent, ({ ms }) => ms).sort();
  const figures = {
    takeovers,
    'requests, each on a new connection': sent.length,
    'requests a second': Math.round(sent.length / seconds),
    'open streams, complete at the end': whole.length,
    'median answer, ms': Math.round(percentile(sorted, 0.5)),
    'slowest answer, ms': Math.round(sorted.at(-1) ?? Number.NaN),
  };
  return { figures, deviations };
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

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({
    options: {
      takeovers: { type: 'string', default: '20' },
      rate: { type: 'string', default: '1000' },
      kills: { type: 'string', default: '40' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  console.log(`seed ${values.seed}`);
  const load = await takeOverUnderLoad(scope, Number(values.takeovers), Number(values.rate));
  console.table(load.figures);
  const kills = await killAtRandom(scope, new Random(Number(values.seed)), Number(values.kills));
  console.table(kills.figures);
  const deviations = [...load.deviations, ...kills.deviations];
  for (const text of deviations.slice(0, MOST_SHOWN)) console.error(text.slice(0, 1_000));
  console.log(`deviations: ${deviations.length}`);
  return deviations.length === 0;
}

await runToEnd(main);
