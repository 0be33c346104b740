/** The cost of many open streams: the CPU time of each event, and the memory of each stream. */
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
/** Without this, code that is loaded and compiled would count as memory of streams. */
const WARM_UP = { connections: 10, completions: 2_000, streams: 200, events: 10 };
const BYTES_PER_KB = 1024;

const streams = STREAMS.toLocaleString('en');
const silentStreams = SILENT_STREAMS.toLocaleString('en');
/** Open at once, and watched for WINDOW_MS. */
export const ACTIVE = `${streams} streams of ${EVENTS_PER_SECOND} events/s`;
/** Each has sent one event. The memory per stream is measured beyond the first STREAMS. */
export const SILENT = `${silentStreams} idle streams`;
const DELIVERED: Shape = { label: 'events/s', digits: 0, shows: 'value' };
export const CPU_PER_EVENT: Shape = { label: 'CPU per event, µs', digits: 1, shows: 'value' };
export const MEMORY: Shape = { label: 'memory per stream, KB', digits: 1, shows: 'value' };

export interface Holding {
  readonly name: string;
  readonly paceMs: number | undefined;
}

export const holdings: readonly Holding[] = [
  {
    name: ACTIVE,
    paceMs: 1000 / EVENTS_PER_SECOND,
  },
  {
    name: SILENT,
    paceMs: undefined,
  },
];

/** Uses a new process each time: one that has used much memory may keep it for long. */
export async function measureHolds(bench: Bench, plan: readonly Holding[], servers: readonly Server[]): Promise<void> {
  if (plan.length === 0) return;
  const floor = floorOf(bench.upstream);
  for (let round = 0; round < bench.lengths.rounds; round++) {
    for (const holding of plan) {
      bench.report(`${holding.name}, round ${round + 1} of ${bench.lengths.rounds}`);
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
    add(MEMORY, await bench.attempt(name, subject, () => observeSilent(bench, subject, process)));
    return;
  }
  const seen = await bench.attempt(name, subject, () => observeActive(bench, subject, paceMs, process));
  add(DELIVERED, seen?.eventsPerSecond);
  if (process === undefined) return;
  add(CPU_PER_EVENT, seen?.cpuPerEvent);
  add(MEMORY, seen?.kilobytes);
}

function observeActive(bench: Bench, subject: Subject, paceMs: number, process?: Measured) {
  const look = async () => ({ usage: await process?.usage(), streams: await bench.load.count() });
  return withStreams(bench, subject, paceMs, async (open) => {
    const before = await process?.usageAfterGc();
    await open(STREAMS);
    const first = await look();
    await pause(WINDOW_MS * bench.lengths.scale);
    const last = await look();
    const after = await process?.usageAfterGc();
    const events = last.streams.events - first.streams.events;
    return {
      eventsPerSecond: (events * 1000) / (last.streams.atMs - first.streams.atMs),
      cpuPerEvent: cpuBetween(first.usage, last.usage) / events,
      kilobytes: kilobytesBetween(before, after) / STREAMS,
    };
  });
}

/** The memory of the later streams: for the first ones a process has enough to spare. */
function observeSilent(bench: Bench, subject: Subject, process?: Measured): Promise<number> {
  return withStreams(bench, subject, undefined, async (open) => {
    await open(STREAMS);
    const before = await process?.usageAfterGc();
    await open(SILENT_STREAMS - STREAMS);
    const after = await process?.usageAfterGc();
    return kilobytesBetween(before, after) / (SILENT_STREAMS - STREAMS);
  });
}

const cpuBetween = (before?: Usage, after?: Usage) => (after?.cpuMicroseconds ?? 0) - (before?.cpuMicroseconds ?? 0);
const kilobytesBetween = (before?: Usage, after?: Usage) =>
  ((after?.rssBytes ?? 0) - (before?.rssBytes ?? 0)) / BYTES_PER_KB;

/**
 * Warms up the server, lets `work` open and observe streams, ends them, and checks that no event
 * was lost.
 */
async function withStreams<T>(
  bench: Bench,
  subject: Subject,
  paceMs: number | undefined,
  work: (open: (streams: number) => Promise<void>) => Promise<T>,
): Promise<T> {
  const { load, upstream } = bench;
  const { name, port, key, headers } = subject;
  await warmUp(bench, subject);
  await upstream.shapeStreams({ events: 'endless', paceMs });
  const open = async (streams: number) => {
    await load.hold(streams, { port, key, headers, stream: true });
    await pause(SETTLE_MS);
  };
  try {
    const seen = await work(open);
    const sent = await upstream.endStreams();
    const { ended, events } = await load.release();
    if (events !== sent) throw new Error(`${name}: ${events} of ${sent} events arrived`);
    bench.countAnswers(name, ended);
    return seen;
  } finally {
    // If that failed, the streams are still open.
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
