/** Measures a `serve`: its memory after a garbage collection, and the delay of its event loop. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM, type Serving, type Workplace } from './cli.ts';
import { until } from './wait.ts';

const PRELOAD = fileURLToPath(new URL('./gauge-preload.ts', import.meta.url));
/** Arguments for a `serve` that can be measured. */
export const GAUGED_SERVE = ['--import', PRELOAD, PROGRAM, 'serve'];

/** The memory of the main thread after a garbage collection, in bytes. */
export interface Reading {
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** The part of `external` that buffers use. */
  readonly bufferBytes: number;
  /** The delay of the event loop since the last reading, in milliseconds. */
  readonly loop: { readonly p99Ms: number; readonly mostMs: number };
}

/** The file, in the working directory of `serve`. */
export const GAUGE_FILE = 'gauge.json';

export async function readGauge(place: Workplace, serving: Serving): Promise<Reading> {
  const path = join(place.directory, GAUGE_FILE);
  rmSync(path, { force: true });
  serving.signal('SIGUSR2');
  await until(() => existsSync(path));
  return JSON.parse(readFileSync(path, 'utf8')) as Reading;
}
