/** Waiting with a bound: what does not happen fails its test by name instead of holding up the run. */
import { setTimeout as pause } from 'node:timers/promises';

/** Much longer than anything takes, also on a machine that is busy with other things. */
const LIMIT_MS = 50_000;
/** Between two looks: at first, and at most, since looks keep busy what they wait for. */
const FIRST_PAUSE_MS = 2;
const MOST_PAUSE_MS = 20;

/** The value of the promise. Throws when it does not come within fifty seconds. */
export async function bounded<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`not within ${LIMIT_MS} ms: ${what}`)), LIMIT_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves once the condition holds. Throws when it does not within fifty seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; !(await condition()); pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS)) {
    if (performance.now() > deadline) throw new Error(`not within ${LIMIT_MS} ms: ${condition}`);
    await pause(pauseMs);
  }
}
