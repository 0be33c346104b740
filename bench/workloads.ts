/** The workloads, and the figures that are taken from them. */
import type { Arrivals, Length, LoadResult, Usage } from './messages.ts';
import { FINAL_EVENTS } from './payloads.ts';
import type { Shape } from './rows.ts';

/** One run of a workload against one target. */
export interface Sample {
  readonly result: LoadResult;
  /** CPU time of the target's process; undefined for the upstream. */
  readonly cpuMicroseconds: number | undefined;
  /** The usage right after the run. */
  readonly usage: Usage | undefined;
  /** CPU time of the load generator and the upstream together. */
  readonly helpersMicroseconds: number;
}

/** One row of the table. */
export interface Figure extends Shape {
  read(sample: Sample): number | undefined;
}

export interface Workload {
  readonly name: string;
  readonly arrivals: Arrivals;
  /** Undefined for plain completions. */
  readonly stream: { readonly events: number; readonly paceMs: number } | undefined;
  readonly length: Length;
  /** Whether to run it on gateways that differ only in a setting. */
  readonly forVariants: boolean;
  readonly figures: readonly Figure[];
}

const BYTES_PER_MB = 1024 * 1024;

export const THROUGHPUT = 'requests/s';
export const CPU_PER_REQUEST = 'CPU per request, µs';
export const CPU_PER_EVENT = 'CPU per event, µs';
export const P50 = 'p50, ms';
export const P99 = 'p99, ms';

/** A typical number for a busy team. */
export const USUAL_CONNECTIONS = 64;
export const MOST_CONNECTIONS = 256;
const CONNECTIONS = [1, 16, USUAL_CONNECTIONS, MOST_CONNECTIONS];
const REQUESTS_PER_SECOND = 1_000;
/**
 * Each has 50 events per second, like a fast model, for 0.6 s: 60 at once, 3,000 events per second.
 */
const STREAMS_PER_SECOND = 100;
const PACED = { events: 30, paceMs: 20 };
/**
 * As fast as they are read. A slow reader gets several events in one chunk, which is cheaper for
 * it.
 */
const FLOOD = { events: 200, paceMs: 0 };
const FLOODS_AT_ONCE = 16;

export const FLOODS = `${FLOODS_AT_ONCE} streams without a pace`;
export const MEMORY_AFTER = 'memory right after it, MB';
export const AT_RATE = `${REQUESTS_PER_SECOND.toLocaleString('en')} requests/s`;
export const STREAMS_AT_RATE = `${STREAMS_PER_SECOND} streams/s, first byte`;

export function closedName(connections: number): string {
  return `${connections} connection${connections === 1 ? '' : 's'}`;
}

const cpuPerRequest: Figure = {
  label: CPU_PER_REQUEST,
  digits: 1,
  shows: 'value',
  read: ({ result, cpuMicroseconds }) => cpuMicroseconds && cpuMicroseconds / result.answers,
};

const cpuPerEvent: Figure = {
  label: CPU_PER_EVENT,
  digits: 2,
  shows: 'value',
  read: ({ result, cpuMicroseconds }) => cpuMicroseconds && cpuMicroseconds / result.events,
};

const helpersCpu: Figure = {
  label: 'CPU of load and upstream per request, µs',
  digits: 1,
  shows: 'value',
  read: ({ result, helpersMicroseconds }) => helpersMicroseconds / result.answers,
};

const memory: Figure = {
  label: MEMORY_AFTER,
  digits: 0,
  shows: 'value',
  read: ({ usage }) => usage && usage.rssBytes / BYTES_PER_MB,
};

const throughput: Figure = {
  label: THROUGHPUT,
  digits: 0,
  shows: 'value',
  read: ({ result }) => result.answers / result.seconds,
};

function latency(label: string, read: (result: LoadResult) => number): Figure {
  return { label, digits: 3, shows: 'latency', read: ({ result }) => read(result) };
}

/** Each connection sends its next request as soon as the last one is answered. */
function closed(connections: number, scale: number): Workload {
  const isLargest = connections === MOST_CONNECTIONS;
  const additional = [
    ...(connections === 1 || connections === USUAL_CONNECTIONS
      ? [latency(P50, ({ totalMs }) => totalMs.p50), latency(P99, ({ totalMs }) => totalMs.p99)]
      : []),
    ...(connections === USUAL_CONNECTIONS ? [helpersCpu] : []),
    ...(isLargest ? [memory] : []),
  ];
  return {
    name: closedName(connections),
    arrivals: { kind: 'closed', connections },
    stream: undefined,
    length: { milliseconds: 800 * scale },
    forVariants: true,
    figures: [throughput, cpuPerRequest, ...additional],
  };
}

/** Requests are due at a fixed rate; time counts from the due time, however long earlier ones take. */
function atRate(scale: number): Workload {
  return {
    name: AT_RATE,
    arrivals: { kind: 'open', perSecond: REQUESTS_PER_SECOND },
    stream: undefined,
    length: { milliseconds: 3_000 * scale },
    forVariants: true,
    figures: [
      latency(P50, ({ totalMs }) => totalMs.p50),
      latency(P99, ({ totalMs }) => totalMs.p99),
      latency('p99.9, ms', ({ totalMs }) => totalMs.p999),
      cpuPerRequest,
    ],
  };
}

/** Streams are due at a fixed rate; time counts from the due time to the first byte of the body. */
function streamsAtRate(scale: number): Workload {
  return {
    name: STREAMS_AT_RATE,
    arrivals: { kind: 'open', perSecond: STREAMS_PER_SECOND },
    stream: PACED,
    length: { milliseconds: 2_000 * scale },
    forVariants: true,
    figures: [
      latency(P50, ({ firstByteMs }) => firstByteMs.p50),
      latency(P99, ({ firstByteMs }) => firstByteMs.p99),
      cpuPerEvent,
    ],
  };
}

/** Each connection reads one stream after another, as fast as it can. */
function floods(scale: number): Workload {
  return {
    name: FLOODS,
    arrivals: { kind: 'closed', connections: FLOODS_AT_ONCE },
    stream: FLOOD,
    length: { milliseconds: 800 * scale },
    forVariants: false,
    figures: [
      { label: 'events/s', digits: 0, shows: 'value', read: ({ result }) => result.events / result.seconds },
      cpuPerEvent,
    ],
  };
}

/** The workloads, each `scale` times as long as usual. */
export function workloads(scale: number): Workload[] {
  return [...CONNECTIONS.map((count) => closed(count, scale)), atRate(scale), streamsAtRate(scale), floods(scale)];
}

/** Throws if a run had unexpected answers. */
export function checkSample(workload: Workload, result: LoadResult): void {
  const expected = workload.stream === undefined ? 0 : result.answers * (workload.stream.events + FINAL_EVENTS);
  if (result.answers === 0) throw new Error(`${workload.name}: no answers`);
  if (result.events !== expected) throw new Error(`${workload.name}: ${result.events} events, not ${expected}`);
}
