/** `kill -9` of one of two gateways at a random moment while one takes over from the other. */
import { setTimeout as pause } from 'node:timers/promises';
import { PROGRAM, type Serving } from '../support/cli.ts';
import type { Random } from '../support/random.ts';
import type { RunScope } from '../support/run-scope.ts';
import { until } from '../support/wait.ts';
import { Site } from './site.ts';
import { type Sent, send, Traffic } from './traffic.ts';

/** How long a takeover takes here at most, nearly: the kill comes somewhere within it. */
const LONGEST_MS = 1_500;
const CLIENTS = 4;
const STREAMS = 3;

/**
 * After each kill a gateway of the two serves, or the next start does. Every answered request is in
 * the journal once; every admitted one is settled or charged as held.
 */
export async function killAtRandom(scope: RunScope, random: Random, kills: number) {
  const site = await Site.open(scope);
  // Whoever starts anew has to serve at the port that clients know.
  let serving = await site.takeOver();
  const port = Number(new URL(serving.url).port);
  site.configure({ listen: `127.0.0.1:${port}`, timeouts: { drain: '2s' } });
  const { key } = await site.key('app');
  const sent: Sent[] = [];
  const streams: Promise<Sent>[] = [];
  const figures = { kills, 'of the earlier one': 0, 'of the next one': 0, 'after which a start was needed': 0 };
  for (let count = 0; count < kills; count++) {
    const traffic = new Traffic({ port, key, model: 'mock/echo' }, CLIENTS);
    streams.push(...Array.from({ length: STREAMS }, () => send({ port, key, model: 'host/stream', stream: true })));
    const next = site.place.launch([PROGRAM, 'serve', '--takeover']);
    await pause(random.between(0, LONGEST_MS));
    const isEarlier = random.between(0, 1) === 0;
    figures[isEarlier ? 'of the earlier one' : 'of the next one']++;
    (isEarlier ? serving : next).signal('SIGKILL');
    site.finishStreams();
    const left = await survivor(isEarlier ? next : serving);
    figures['after which a start was needed'] += Number(left === undefined);
    serving = left ?? (await site.takeOver());
    sent.push(...(await traffic.stop()));
  }
  let areStreamsOver = false;
  const all = Promise.all(streams).finally(() => {
    areStreamsOver = true;
  });
  await until(() => {
    // Some reach the host only now.
    site.finishStreams();
    return areStreamsOver;
  });
  sent.push(...(await all));
  const status = await serving.stop();
  const faults = [
    ...journalFaults(site, sent),
    ...(status === 0 ? [] : [`the last gateway exited with ${status}`]),
    ...((await site.place.run(['audit'])).status === 0 ? [] : ['the audit found differences after kills']),
  ];
  return { figures: { ...figures, requests: sent.length }, deviations: faults };
}

/** The gateway that was not killed, once it serves alone; undefined if it ends. */
async function survivor(left: Serving): Promise<Serving | undefined> {
  const ended = left.ended.then(() => undefined);
  const serving = left.listening().catch(() => undefined);
  const one = await Promise.race([ended, serving]);
  if (one === undefined) return undefined;
  // The earlier one ends if the next one was killed after the handover.
  const { url } = one;
  const answers = await fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
  return answers ? one : ended;
}

function journalFaults(site: Site, sent: readonly Sent[]): string[] {
  const rows = new Map(site.journal().map((row) => [row.request_id, row]));
  return sent.flatMap(({ status, requestId = '', problem }) => {
    if (status !== 200 || problem !== undefined) return [];
    const row = rows.get(requestId);
    return row?.outcome === 'ok' ? [] : [`request ${requestId} was answered, and its row is ${JSON.stringify(row)}`];
  });
}
