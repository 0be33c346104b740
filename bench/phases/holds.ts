/** What many streams cost that are open at once: the CPU of each event, and the memory of each stream. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Measured } from '../children.ts';
import type { Usage } from '../messages.ts';
import type { Shape } from '../rows.ts';
import type { Server } from '../targets.ts';
import { type Bench, floorOf, type Subject } from './bench.ts';

const STREAMS = 1_000;
const SILENT_STREAMS = 4_000;
const EVENTS_PER_SECOND = 20;
const SETTLE_MS = 500;
const WINDOW_MS = 2_000;
/** A process that has served nothing yet would grow by what it loads and compiles. */
const WARM_UP = { connections: 10, completions: 2_000, streams: 200, events: 10 };
const BYTES_PER_KB = 1024;

const streams = STREAMS.toLocaleString('en');
const silentStreams = SILENT_STREAMS.toLocaleString('en');
export const ACTIVE = `${streams} streams of ${EVENTS_PER_SECOND} events/s`;
export const SILENT = `${silentStreams} idle streams`;
const DELIVERED: Shape = { label: 'events/s', digits: 0, shows: 'value' };
export const CPU_PER_EVENT: Shape = { label: 'CPU per event, µs', digits: 1, shows: 'value' };
export const MEMORY: Shape = { label: 'memory per stream, KB', digits: 1, shows: 'value' };

export interface Holding {
  readonly name: string;
  readonly about: string;
  readonly paceMs: number | undefined;
}

export const holdings: readonly Holding[] = [
  {
    name: ACTIVE,
    about: `${streams} streams open at once, each with an event every ${1000 / EVENTS_PER_SECOND} ms, watched for ${WINDOW_MS / 1000} s (less in a short run)`,
    paceMs: 1000 / EVENTS_PER_SECOND,
  },
  {
    name: SILENT,
    about: `${silentStreams} streams open at once that have sent one event and fallen silent; what they take beyond the first ${streams}`,
    paceMs: undefined,
  },
];

/** Each in a process of its own, since one that had much memory at some time gives it back when it likes. */
export async function measureHolds(bench: Bench, plan: readonly Holding[], servers: readonly Server[]): Promise<void> {
  if (plan.length === 0) return;
  const floor = floorOf(bench.upstream);
  for (let round = 0; round < bench.lengths.rounds; round++) {
    for (const holding of plan) {
      bench.tell(`${holding.name}, round ${round + 1} of ${bench.lengths.rounds}`);
      if (holding.paceMs !== undefined) await measure(bench, holding, floor);
      for (const server of bench.inTurn(servers, round)) {
        const { process } = await bench.start(server);
        await measure(bench, holding, server, process);
        await process.stop();
      }
    }
  }
}

async function measure(bench: Bench, { name, paceMs }: Holding, subject: Subject, process?: Measured): Promise<void> {
  const add = (shape: Shape, value: number | undefined) => bench.rows.add(name, shape, subject.name, value);
  if (paceMs === undefined) {
    add(MEMORY, await bench.attempt(name, subject, () => lookAtSilent(bench, subject, process)));
    return;
  }
  const seen = await bench.attempt(name, subject, () => lookAtActive(bench, subject, paceMs, process));
  add(DELIVERED, seen?.eventsPerSecond);
  if (process === undefined) return;
  add(CPU_PER_EVENT, seen?.cpuPerEvent);
  add(MEMORY, seen?.kilobytes);
}

function lookAtActive(bench: Bench, subject: Subject, paceMs: number, process?: Measured) {
  const look = async () => ({ usage: await process?.usage(), streams: await bench.load.count() });
  return withStreams(bench, subject, paceMs, async (open) => {
    const before = await process?.usageAtRest();
    await open(STREAMS);
    const first = await look();
    await pause(WINDOW_MS * bench.lengths.scale);
    const last = await look();
    const after = await process?.usageAtRest();
    const events = last.streams.events - first.streams.events;
    return {
      eventsPerSecond: (events * 1000) / (last.streams.atMs - first.streams.atMs),
      cpuPerEvent: cpuBetween(first.usage, last.usage) / events,
      kilobytes: kilobytesBetween(before, after) / STREAMS,
    };
  });
}

/** What the later ones take: for the first of them a process has some memory at hand anyway. */
function lookAtSilent(bench: Bench, subject: Subject, process?: Measured): Promise<number> {
  return withStreams(bench, subject, undefined, async (open) => {
    await open(STREAMS);
    const before = await process?.usageAtRest();
    await open(SILENT_STREAMS - STREAMS);
    const after = await process?.usageAtRest();
    return kilobytesBetween(before, after) / (SILENT_STREAMS - STREAMS);
  });
}

const cpuBetween = (before?: Usage, after?: Usage) => (after?.cpuMicroseconds ?? 0) - (before?.cpuMicroseconds ?? 0);
const kilobytesBetween = (before?: Usage, after?: Usage) =>
  ((after?.rssBytes ?? 0) - (before?.rssBytes ?? 0)) / BYTES_PER_KB;

/** Warms the server up, lets `work` open streams and look at them, ends them, and counts what came of them. */
async function withStreams<T>(
  bench: Bench,
  subject: Subject,
  paceMs: number | undefined,
  work: (open: (streams: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const { load, upstream } = bench;
  const { name, port, key, headers } = subject;
  await warmUp(bench, subject);
  await upstream.shapeStreams({ events: 'until told', paceMs });
  const open = async (streams: number) => {
    await load.hold(streams, { port, key, headers, stream: true });
    await pause(SETTLE_MS);
  };
  try {
    const seen = await work(open);
    const sent = await upstream.endStreams();
    const { ended, events } = await load.release();
    if (events !== sent) throw new Error(`${name}: ${events} events came of ${sent}`);
    bench.countAnswers(name, ended);
    return seen;
  } finally {
    // Where that failed, they would go on for ever.
    await upstream.endStreams();
  }
}

async function warmUp(bench: Bench, { name, port, key, headers }: Subject): Promise<void> {
  await bench.upstream.shapeStreams({ events: WARM_UP.events, paceMs: 0 });
  for (const stream of [false, true]) {
    const { answers } = await bench.load.run({
      ...{ port, key, headers, stream },
      arrivals: { kind: 'closed', connections: WARM_UP.connections },
      length: { requests: stream ? WARM_UP.streams : WARM_UP.completions },
    });
    bench.countAnswers(name, answers);
  }
}
