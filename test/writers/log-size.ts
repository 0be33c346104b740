/** How large SQLite's log grows while others read the state file of a gateway under load, and what it comes back to. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Random } from '../support/random.ts';
import { percentilesOf } from '../support/statistics.ts';
import { Load } from './load.ts';
import { openSite, type Scope, type Site } from './site.ts';

const SCRIPT = fileURLToPath(new URL('./reader.ts', import.meta.url));
const STEP_MS = 1_000;

/** What the log must come back to once nobody reads. */
export const LOG_BOUND_BYTES = 64 * 1024 * 1024;

export interface ReaderOptions {
  readonly seed: number;
  readonly clients: number;
  /** How long somebody reads, and how long the load goes on before and after that. */
  readonly readingMs: number;
  readonly aloneMs: number;
  /** How many readers take turns, and how long each of them reads at a time. */
  readonly readers: number;
  readonly eachMs: number;
}

/** What was seen while somebody read, or before, or after. */
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
  if (status !== 0) deviations.push(`the gateway ended with status ${status}`);
  deviations.push(...site.serving.log.filter(({ level }) => level === 'error').map(({ msg }) => `logged: ${msg}`));
  return { before, reading, after, deviations };
}

/** Resolves once it reads, with a way to end it. */
async function startReader(
  scope: Scope,
  { place }: Site,
  { readingMs, readers, eachMs }: ReaderOptions,
): Promise<() => Promise<unknown>> {
  // It is stopped before its time.
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
  if (started === undefined) throw new Error(`the reader has ended with status ${child.exitCode}`);
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
