/** `kill -9` of one of two gateways at a random moment while one takes over from the other. */
import { setTimeout as pause } from 'node:timers/promises';
import { askToHandOver } from '../../src/control/client.ts';
import { UserError } from '../../src/core/errors.ts';
import { OFFER } from '../../src/takeover/protocol.ts';
import type { Course } from '../support/campaign.ts';
import { PROGRAM, type Serving } from '../support/cli.ts';
import { until } from '../support/wait.ts';
import { Site } from './site.ts';
import { type Sent, send, Traffic } from './traffic.ts';

/** How long a takeover takes here at most, nearly: the kill comes somewhere within it. */
const LONGEST_MS = 1_500;
const CLIENTS = 4;
const STREAMS = 3;
/** In a stream that has begun and could not be settled. */
const ERROR_EVENT = 'data: {"error":';

/**
 * After each kill a gateway of the two serves, or the next start does. Every answered request is in
 * the journal once; every admitted one is settled or charged as held, and its client is told which.
 */
export async function killAtRandom(course: Course, most: number) {
  const { random } = course;
  const site = await Site.open(course);
  // Whoever starts anew has to serve at the port that clients know.
  let serving = await site.takeOver();
  const port = Number(new URL(serving.url).port);
  site.configure({ listen: `127.0.0.1:${port}`, timeouts: { drain: '2s' } });
  const { key } = await site.key('app');
  const sent: Sent[] = [];
  const streams: Promise<Sent>[] = [];
  const figures = { kills: 0, 'of the earlier one': 0, 'of the next one': 0, 'after which a start was needed': 0 };
  for (; figures.kills < most && !course.isOver(); figures.kills++) {
    const traffic = new Traffic({ port, key, model: 'mock/echo' }, CLIENTS);
    streams.push(...Array.from({ length: STREAMS }, () => send({ port, key, model: 'host/stream', stream: true })));
    const next = site.place.launch([PROGRAM, 'serve', '--takeover']);
    await pause(random.between(0, LONGEST_MS));
    const isEarlier = random.between(0, 1) === 0;
    figures[isEarlier ? 'of the earlier one' : 'of the next one']++;
    const [killed, other] = isEarlier ? [serving, next] : [next, serving];
    killed.signal('SIGKILL');
    site.finishStreams();
    await killed.ended;
    const left = await survivor(site, other);
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
async function survivor(site: Site, left: Serving): Promise<Serving | undefined> {
  let hasEnded = false;
  void left.ended.then(() => {
    hasEnded = true;
  });
  await until(async () => hasEnded || (await decidesAlone(site)));
  return hasEnded ? undefined : left.listening();
}

/**
 * One that has handed over answers requests for a while, and then ends. One that is about to hand over, or to go on, has
 * another answer for a process of an unknown version than one that could.
 */
async function decidesAlone({ controlPath }: Site): Promise<boolean> {
  try {
    await askToHandOver(controlPath, { ...OFFER, takeover: 0 });
    return false;
  } catch (error) {
    return error instanceof UserError && error.lines.some((line) => line.includes('too different for a takeover'));
  }
}

function journalFaults(site: Site, sent: readonly Sent[]): string[] {
  const rows = new Map(site.journal().map((row) => [row.request_id, row]));
  return sent.flatMap(({ status, requestId = '', problem, text }) => {
    if (status !== 200 || problem !== undefined) return [];
    const row = rows.get(requestId);
    // One that could not be settled, since whoever decided has died, ends with an error, and is charged as held.
    const outcome = text.includes(ERROR_EVENT) ? 'interrupted' : 'ok';
    return row?.outcome === outcome ? [] : [`request ${requestId} got ${text}, and its row is ${JSON.stringify(row)}`];
  });
}
