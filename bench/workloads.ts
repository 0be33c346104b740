/** What the targets are put to, and the figures that are read from it. */
import type { Arrivals, LoadResult, StreamShape } from './messages.ts';
import { ENDING_EVENTS } from './payloads.ts';

/** One run of a workload against one target. */
export interface Sample {
  readonly result: LoadResult;
  /** Of the target's process; undefined where the target is the upstream. */
  readonly cpuMicroseconds: number | undefined;
}

/** One line of the table. */
export interface Figure {
  readonly label: string;
  readonly digits: number;
  /** `added`: shown as what comes on top of the upstream alone. */
  readonly shows: 'value' | 'added';
  read(sample: Sample): number | undefined;
}

export interface Workload {
  readonly name: string;
  readonly arrivals: Arrivals;
  /** Undefined for completions in one piece. */
  readonly stream: StreamShape | undefined;
  /** How long requests are sent, in milliseconds; they end a little later. */
  readonly durationMs: number;
  /** Whether it is worth its time for gateways that differ in a setting alone. */
  readonly forVariants: boolean;
  readonly figures: readonly Figure[];
}

/** As many as run on a machine of an operator with a busy team. */
const CONNECTIONS = 64;
const REQUESTS_PER_SECOND = 1_000;
/** Each brings 50 events a second, as a quick model does, for 0.6 s: 60 at once, 3,000 events a second. */
const STREAMS_PER_SECOND = 100;
const PACED: StreamShape = { events: 30, paceMs: 20 };
/** As quickly as they are taken. A reader that lags gets several events in one piece, which is cheaper for it. */
const FLOOD: StreamShape = { events: 200, paceMs: 0 };
const FLOODS_AT_ONCE = 16;

const cpuPerAnswer: Figure = {
  label: 'CPU per request, µs',
  digits: 1,
  shows: 'value',
  read: ({ result, cpuMicroseconds }) => cpuMicroseconds && cpuMicroseconds / result.answers,
};

const cpuPerEvent: Figure = {
  label: 'CPU per event, µs',
  digits: 2,
  shows: 'value',
  read: ({ result, cpuMicroseconds }) => cpuMicroseconds && cpuMicroseconds / result.events,
};

function latency(label: string, read: (result: LoadResult) => number): Figure {
  return { label, digits: 3, shows: 'added', read: ({ result }) => read(result) };
}

const answerLatencies = [
  latency('added p50, ms', (result) => result.totalMs.p50),
  latency('added p99, ms', (result) => result.totalMs.p99),
];

/** The workloads, each `scale` times as long as usual. */
export function workloads(scale: number): Workload[] {
  return [
    {
      name: `${CONNECTIONS} connections`,
      arrivals: { kind: 'closed', connections: CONNECTIONS },
      stream: undefined,
      durationMs: 800 * scale,
      forVariants: true,
      figures: [
        { label: 'requests/s', digits: 0, shows: 'value', read: ({ result }) => result.answers / result.seconds },
        cpuPerAnswer,
      ],
    },
    {
      name: '1 connection',
      arrivals: { kind: 'closed', connections: 1 },
      stream: undefined,
      durationMs: 500 * scale,
      forVariants: true,
      figures: answerLatencies,
    },
    {
      name: `${REQUESTS_PER_SECOND} requests/s`,
      arrivals: { kind: 'open', perSecond: REQUESTS_PER_SECOND },
      stream: undefined,
      durationMs: 800 * scale,
      forVariants: true,
      figures: [...answerLatencies, cpuPerAnswer],
    },
    {
      name: `${STREAMS_PER_SECOND} paced streams/s`,
      arrivals: { kind: 'open', perSecond: STREAMS_PER_SECOND },
      stream: PACED,
      durationMs: 600 * scale,
      forVariants: false,
      figures: [
        latency('added p50 of first byte, ms', (result) => result.firstByteMs.p50),
        latency('added p99 of first byte, ms', (result) => result.firstByteMs.p99),
        cpuPerEvent,
      ],
    },
    {
      name: `${FLOODS_AT_ONCE} unpaced streams`,
      arrivals: { kind: 'closed', connections: FLOODS_AT_ONCE },
      stream: FLOOD,
      durationMs: 500 * scale,
      forVariants: false,
      figures: [
        { label: 'events/s', digits: 0, shows: 'value', read: ({ result }) => result.events / result.seconds },
        cpuPerEvent,
      ],
    },
  ];
}

/** Throws where a run brought other answers than it should have. */
export function checkSample(workload: Workload, { result }: Sample): void {
  const expected = workload.stream === undefined ? 0 : result.answers * (workload.stream.events + ENDING_EVENTS);
  if (result.answers === 0) throw new Error(`${workload.name}: no answer at all`);
  if (result.events !== expected) throw new Error(`${workload.name}: ${result.events} events, not ${expected}`);
}
