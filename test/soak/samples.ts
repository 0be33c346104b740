/** The samples of a soak test, printed as lines, and their growth at the end. */

import { countHolds } from '../support/books.ts';
import { readGauge } from '../support/gauge.ts';
import type { Place } from '../support/place.ts';
import { descriptorsOf, residentBytesOf } from '../support/process.ts';
import type { SoakHost } from './host.ts';

const BYTES_PER_MB = 1_000_000;
const SLOPE_MINUTES = 10;
const WIDTH = 12;

export interface Sample {
  readonly minutes: number;
  /** Heap and buffers of the main thread after a garbage collection, in MB. */
  readonly heap: number;
  readonly buffers: number;
  /** Of the whole process. */
  readonly memory: number;
  readonly descriptors: number;
  readonly sockets: number;
  readonly holds: number;
  readonly loopP99Ms: number;
  readonly loopMostMs: number;
}

export const SAMPLE_HEAD = lineOf([
  ...['minute', 'heap MB', 'buffers MB', 'memory MB', 'descriptors', 'upstream', 'holds', 'loop p99', 'loop most'],
  ...['complete', 'failed', 'left', 'stalled', 'json'],
]);

export async function takeSample(place: Place, pid: number, host: SoakHost, startedAtMs: number): Promise<Sample> {
  const { heapBytes, bufferBytes, loop } = await readGauge(place, place.serving);
  return {
    minutes: (performance.now() - startedAtMs) / 60_000,
    heap: heapBytes / BYTES_PER_MB,
    buffers: bufferBytes / BYTES_PER_MB,
    memory: residentBytesOf(pid) / BYTES_PER_MB,
    descriptors: descriptorsOf(pid),
    sockets: host.sockets,
    holds: countHolds(place.database),
    loopP99Ms: loop.p99Ms,
    loopMostMs: loop.mostMs,
  };
}

export function sampleLine(sample: Sample, counts: object): string {
  return lineOf([...Object.values(sample), ...Object.values(counts)].map(shown));
}

/**
 * The growth of a figure in ten minutes, by linear regression over all but the first fifth of the
 * samples.
 */
export function slope(samples: readonly Sample[], read: (sample: Sample) => number): number {
  const points = samples.slice(Math.ceil(samples.length / 5)).map((sample) => [sample.minutes, read(sample)] as const);
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([minutes]) => minutes)), mean(points.map(([, value]) => value))];
  const covariance = mean(points.map(([minutes, value]) => (minutes - x) * (value - y)));
  return (SLOPE_MINUTES * covariance) / mean(points.map(([minutes]) => (minutes - x) ** 2));
}

function shown(figure: number): string {
  return figure.toLocaleString('en', { maximumFractionDigits: Number.isInteger(figure) ? 0 : 1 });
}

function lineOf(cells: readonly string[]): string {
  return cells.map((cell) => cell.padStart(WIDTH)).join('');
}
