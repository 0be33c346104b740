/** Asks a `serve` of its own what it uses: memory after a collection, and the delay of its event loop. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAM, type Serving, type Workplace } from './cli.ts';
import { until } from './wait.ts';

const PRELOAD = fileURLToPath(new URL('./gauge-preload.ts', import.meta.url));
/** How a `serve` is started that can be asked. */
export const GAUGED_SERVE = ['--import', PRELOAD, PROGRAM, 'serve'];

/** Of the main thread, after a collection of garbage, in bytes. */
export interface Reading {
  readonly heapBytes: number;
  readonly externalBytes: number;
  /** Of the external ones, those of buffers. */
  readonly bufferBytes: number;
  /** How late the event loop was since the last reading, in milliseconds. */
  readonly loop: { readonly p99Ms: number; readonly mostMs: number };
}

/** In the folder in which `serve` runs. */
export const GAUGE_FILE = 'gauge.json';

export async function readGauge(place: Workplace, serving: Serving): Promise<Reading> {
  const path = join(place.directory, GAUGE_FILE);
  rmSync(path, { force: true });
  serving.signal('SIGUSR2');
  await until(() => existsSync(path));
  return JSON.parse(readFileSync(path, 'utf8')) as Reading;
}
