/** Runs those test files of a list that no other process has begun, and notes what each has taken. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import { endAll } from './at-end.ts';
import { useBuiltThreads } from './built-threads.ts';
import { coreSeconds } from './core-seconds.ts';
import { setEnvironment } from './environment.ts';

/** Far more than a process needs to end once its tests have. */
const LINGER_MS = 20_000;

/** What a test file has taken, its processes included, in core-seconds. */
export interface Cost {
  readonly file: string;
  readonly seconds: number;
}

/**
 * One file after the other, for to start a process and load the program into it takes longer than most tests. Each is a
 * suite, and so has hooks of its own; the variables that it sets are gone after it. A process that ends in the middle of
 * a file fails, and leaves the next ones to the others.
 */
export async function runQueue(files: readonly string[], folder: string): Promise<void> {
  if (process.env.INF_GW_TESTS_THREADS === 'built') useBuiltThreads();
  let isDone = false;
  process.once('exit', () => {
    if (!isDone) process.exitCode = 1;
  });
  const variables = { ...process.env };
  let taken = coreSeconds();
  for (const [index, file] of files.entries()) {
    if (!isMine(folder, index)) continue;
    await describe(file, async () => {
      await import(pathToFileURL(resolve(file)).href);
    });
    setEnvironment(variables);
    const before = taken;
    taken = coreSeconds();
    writeFileSync(join(folder, 'ended', String(index)), String(taken - before));
  }
  await endAll();
  isDone = true;
  setTimeout(failToEnd, LINGER_MS).unref();
}

/** What a failed test has left open would keep the run from its end, and its failures from who waits for them. */
function failToEnd(): void {
  console.error(`still open after the last test: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}

/** The files that have run to their end, the dearest first. */
export function readCosts(files: readonly string[], folder: string): Cost[] {
  const ended = join(folder, 'ended');
  return readdirSync(ended)
    .map((index) => ({
      file: files[Number(index)] as string,
      seconds: Number(readFileSync(join(ended, index), 'utf8')),
    }))
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** Two processes cannot make the same folder. */
function isMine(folder: string, index: number): boolean {
  try {
    mkdirSync(join(folder, 'begun', String(index)));
    return true;
  } catch {
    return false;
  }
}
