/** How soon a host learns that a client has hung up: on an idle gateway, and on one that is busy with other streams and requests. */

import { chunk, completion } from '../support/answers.ts';
import { countHolds } from '../support/books.ts';
import { campaign, showRow } from '../support/campaign.ts';
import { SERVE } from '../support/cli.ts';
import type { UpstreamCall } from '../support/fake-upstream.ts';
import { Place, rawChat, type TestKey } from '../support/place.ts';
import { RawConnection } from '../support/raw.ts';
import { percentile } from '../support/statistics.ts';
import { until } from '../support/wait.ts';

const WITHIN_MS = 50;
const BUSY_CLIENTS = 16;
const KEPT_CALLS = 1_000;
const WORDS = 'some words';

type Stage = 'before its answer' | 'mid-stream';
const STAGES: readonly Stage[] = ['before its answer', 'mid-stream'];

/** From the end of the client's connection to the end of the host's, in milliseconds. */
async function disconnect(place: Place, key: TestKey, stage: Stage): Promise<number> {
  const received = Promise.withResolvers<UpstreamCall>();
  const user = stage === 'mid-stream' ? 'stream' : 'silence';
  place.upstream.follow((call) => {
    if (place.upstream.calls.length > KEPT_CALLS) place.upstream.calls.length = 0;
    if (!call.body.includes(`"user":"${user}"`)) return call.answer(200, completion(WORDS));
    if (stage === 'mid-stream') {
      call.stream();
      call.send(chunk(WORDS));
    }
    received.resolve(call);
  });
  const connection = await RawConnection.sending(place.port, rawChat(key, { stream: true, user }));
  const call = await received.promise;
  if (stage === 'mid-stream') await connection.has(WORDS);
  const leftAtMs = performance.now();
  connection.leave();
  await call.closed;
  return performance.now() - leftAtMs;
}

/** Sends one JSON request after another until `isOver`. */
async function keepBusy(place: Place, key: TestKey, isOver: () => boolean): Promise<void> {
  const connection = await RawConnection.open(place.port);
  while (!isOver()) {
    connection.send(rawChat(key, { user: 'busy' }));
    await connection.answer();
  }
  connection.leave();
}

export default campaign({
  proves: 'a host learns within moments that a client has left',
  amounts: { count: 500 },
  minutes: 2,
  async run(course, { count }) {
    const limits = { rpm: 100_000_000, tpm: 100_000_000_000, concurrency: 10_000 };
    const place = await Place.open(course, { credit: 'off', tiers: { standard: limits } }, SERVE);
    const [key, other] = [place.key(), place.key()];
    const parts = [0, BUSY_CLIENTS].flatMap((clients) => STAGES.map((stage) => ({ clients, stage })));
    showRow('milliseconds', ['p50', 'p99', 'most']);
    for (const [index, { clients, stage }] of parts.entries()) {
      let isOver = false;
      const busy = Array.from({ length: clients }, () => keepBusy(place, other, () => isOver));
      const taken: number[] = [];
      do taken.push(await disconnect(place, key, stage));
      while (taken.length < count && !course.isOver((index + 1) / parts.length));
      isOver = true;
      await Promise.all(busy);
      const sorted = taken.toSorted((a, b) => a - b);
      const p99 = percentile(sorted, 0.99);
      const name = `${stage}, ${clients === 0 ? 'alone' : `${clients} others`}`;
      showRow(name, [percentile(sorted, 0.5), p99, sorted.at(-1) ?? Number.NaN]);
      if (p99 > WITHIN_MS) course.deviate(`${name}: more than ${WITHIN_MS} ms`);
    }
    await until(() => countHolds(place.database) === 0);
    const rows = place.rows(key);
    const unpaid = rows.filter(({ outcome, cost_nanos }) => outcome !== 'cancelled' || cost_nanos === 0);
    if (unpaid.length > 0) course.deviate(`${unpaid.length} of ${rows.length} disconnects were not charged`);
    await place.stop();
    return `${rows.length} disconnects`;
  },
});
