/**
 * How large SQLite's log grows while other processes read the state file of a gateway under load,
 * and after that.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../support/random.ts';
import type { Scope } from '../support/run-scope.ts';
import { percentilesOf } from '../support/statistics.ts';
import { Load } from './load.ts';
import { openSite, type Site } from './site.ts';

const SCRIPT = fileURLToPath(new URL('./reader.ts', import.meta.url));
const STEP_MS = 1_000;

/** The log must shrink to this size once nobody reads. */
export const LOG_BOUND_BYTES = 64 * 1024 * 1024;

export interface ReaderOptions {
  readonly seed: number;
  readonly clients: number;
  /** How long the readers read, and how long the load runs before and after that. */
  readonly readingMs: number;
  readonly aloneMs: number;
  /** The number of readers that take turns, and how long each reads at a time. */
  readonly readers: number;
  readonly eachMs: number;
}

/** What was measured before, during or after the reading. */
export interface Phase {
  /** The size of the log once a second, in bytes. */
  readonly sizes: readonly number[];
  readonly answersPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly slowestMs: number;
}

export interface LogSizes {
  readonly before: Phase;
  readonly reading: Phase;
  readonly after: Phase;
  readonly deviations: readonly string[];
}

export async function watchLog(scope: Scope, options: ReaderOptions): Promise<LogSizes> {
  const site = await openSite(scope);
  const load = new Load(site, options.clients, new Random(options.seed));
  const watch = (forMs: number) => watchPhase(site, load, forMs);
  const before = await watch(options.aloneMs);
  const stopReading = await startReader(scope, site, options);
  const reading = await watch(options.readingMs);
  await stopReading();
  const after = await watch(options.aloneMs);
  await load.stop();
  const deviations = [...load.deviations];
  const status = await site.serving.stop();
  if (status !== 0) deviations.push(`the gateway exited with status ${status}`);
  deviations.push(...site.serving.log.filter(({ level }) => level === 'error').map(({ msg }) => `logged: ${msg}`));
  return { before, reading, after, deviations };
}

/** Resolves once the reader reads, with a function that stops it. */
async function startReader(
  scope: Scope,
  { place }: Site,
  { readingMs, readers, eachMs }: ReaderOptions,
): Promise<() => Promise<unknown>> {
  // It is stopped early.
  const words = [SCRIPT, place.statePath, 2 * readingMs, readers, eachMs].map(String);
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const stop = () => {
    child.kill('SIGKILL');
    return ended;
  };
  scope.after(async () => {
    await stop();
  });
  const started = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)]);
  if (started === undefined) throw new Error(`the reader exited with status ${child.exitCode}`);
  child.stdout.resume();
  return stop;
}

async function watchPhase({ place }: Site, load: Load, forMs: number): Promise<Phase> {
  load.takeLatencies();
  const sizes: number[] = [];
  const startedAtMs = performance.now();
  const watchedMs = () => performance.now() - startedAtMs;
  while (watchedMs() < forMs) {
    await pause(Math.min(STEP_MS, forMs - watchedMs()));
    sizes.push(statSync(`${place.statePath}-wal`).size);
  }
  const latenciesMs = load.takeLatencies();
  const { p50, p99 } = percentilesOf(latenciesMs);
  const slowestMs = latenciesMs.reduce((slowest, each) => Math.max(slowest, each), 0);
  return { sizes, answersPerSecond: (latenciesMs.length * 1_000) / watchedMs(), p50Ms: p50, p99Ms: p99, slowestMs };
}
