/**
 * How soon a host learns that a client has hung up: `npm run test:disconnects [-- --count N]`. On
 * an idle gateway, and on one that is busy with other streams and requests. Exits with status 1 if
 * it takes too long, or anything is left behind.
 */
import { parseArgs } from 'node:util';
import { rawChat, Site, type SiteKey } from '../control/site.ts';
import { chunk, completion } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { SERVE } from '../support/cli.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { RawConnection } from '../support/raw.ts';
import { type RunScope, runToEnd } from '../support/run-scope.ts';
import { percentile } from '../support/statistics.ts';
import { until } from '../support/wait.ts';

const WITHIN_MS = 50;
const BUSY_CLIENTS = 16;
const KEPT_CALLS = 1_000;
const WORDS = 'some words';

type Stage = 'before its answer' | 'mid-stream';
const STAGES: readonly Stage[] = ['before its answer', 'mid-stream'];

/** From the end of the client's connection to the end of the host's, in milliseconds. */
async function disconnect(site: Site, key: SiteKey, stage: Stage): Promise<number> {
  const received = Promise.withResolvers<UpstreamCall>();
  const user = stage === 'mid-stream' ? 'stream' : 'silence';
  site.upstream.follow((call) => {
    if (site.upstream.calls.length > KEPT_CALLS) site.upstream.calls.length = 0;
    if (!call.body.includes(`"user":"${user}"`)) return call.answer(200, completion(WORDS));
    if (stage === 'mid-stream') {
      call.stream();
      call.send(chunk(WORDS));
    }
    received.resolve(call);
  });
  const connection = await RawConnection.open(site.port);
  connection.send(rawChat(key, { stream: true, user }));
  const call = await received.promise;
  if (stage === 'mid-stream') await connection.has(WORDS);
  const leftAtMs = performance.now();
  connection.leave();
  await call.closed;
  return performance.now() - leftAtMs;
}

/** Sends one JSON request after another until `isOver`. */
async function keepBusy(site: Site, key: SiteKey, isOver: () => boolean): Promise<void> {
  const connection = await RawConnection.open(site.port);
  while (!isOver()) {
    connection.send(rawChat(key, { user: 'busy' }));
    await connection.answer();
  }
  connection.leave();
}

async function main(scope: RunScope): Promise<boolean> {
  const { values } = parseArgs({ options: { count: { type: 'string', default: '500' } } });
  const limits = { rpm: 100_000_000, tpm: 100_000_000_000, concurrency: 10_000 };
  const site = await Site.open(scope, { credit: 'off', tiers: { standard: limits } }, SERVE);
  const [key, other] = [site.key(), site.key()];
  const deviations: string[] = [];
  console.log('milliseconds'.padEnd(36) + ['p50', 'p99', 'most'].map((cell) => cell.padStart(10)).join(''));
  for (const clients of [0, BUSY_CLIENTS]) {
    for (const stage of STAGES) {
      let isOver = false;
      const busy = Array.from({ length: clients }, () => keepBusy(site, other, () => isOver));
      const taken: number[] = [];
      for (let i = 0; i < Number(values.count); i++) taken.push(await disconnect(site, key, stage));
      isOver = true;
      await Promise.all(busy);
      const sorted = taken.toSorted((a, b) => a - b);
      const name = `${stage}, ${clients === 0 ? 'alone' : `${clients} others`}`;
      const [p50, p99, most] = [percentile(sorted, 0.5), percentile(sorted, 0.99), sorted.at(-1) ?? Number.NaN];
      console.log(name.padEnd(36) + [p50, p99, most].map((ms) => ms.toFixed(2).padStart(10)).join(''));
      if (p99 > WITHIN_MS) deviations.push(`${name}: more than ${WITHIN_MS} ms`);
    }
  }
  await until(() => countHolds(site.database) === 0);
  const rows = site.rows(key);
  const unpaid = rows.filter(({ outcome, cost_nanos }) => outcome !== 'cancelled' || cost_nanos === 0);
  if (unpaid.length > 0) deviations.push(`${unpaid.length} of ${rows.length} disconnects were not charged`);
  await site.stop();
  for (const text of deviations) console.error(text);
  console.log(`${rows.length} disconnects, ${deviations.length} deviations`);
  return deviations.length === 0;
}

await runToEnd(main);
