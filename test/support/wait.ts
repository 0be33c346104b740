/**
 * Waiting with a time limit: what does not happen fails its test by name instead of blocking the
 * run.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Much longer than anything takes, even on a busy machine. */
const LIMIT_MS = 50_000;
/** The time between two checks, initial and maximal: checks take time from what they wait for. */
const FIRST_PAUSE_MS = 2;
const MOST_PAUSE_MS = 20;

/** The value of the promise. Throws if it takes longer than fifty seconds. */
export async function bounded<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not within ${LIMIT_MS} ms: ${what}`)), LIMIT_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the condition holds. Throws if it does not within fifty seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; !(await condition()); pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    if (performance.now() > deadline) throw new Error(`not within ${LIMIT_MS} ms: ${condition}`);
    await pause(pauseMs);
  }
}
