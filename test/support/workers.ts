/** The worker threads of a gateway in this process, and how many requests each has in flight. */
import type { Worker } from 'node:worker_threads';
import type { Message } from '../../src/core/channel.ts';

/** Runs `work`. Returns its result and the threads that it started. */
export async function withNewThreads<T>(work: () => Promise<T>): Promise<{ result: T; threads: Worker[] }> {
  const threads: Worker[] = [];
  const note = (thread: Worker) => threads.push(thread);
  process.on('worker', note);
  try {
    return { result: await work(), threads };
  } finally {
    process.off('worker', note);
  }
}

/**
 * The number of requests in flight that each worker reports; `ask` makes the gateway ask all of
 * them.
 */
export async function inFlightByThread(
  threads: readonly Worker[],
  ask: () => Promise<unknown>,
): Promise<readonly number[]> {
  const counts: number[] = [];
  const listen = ([ticket, result]: Message) => {
    if (typeof ticket === 'number' && typeof result === 'number') counts.push(result);
  };
  for (const thread of threads) thread.on('message', listen);
  await ask();
  for (const thread of threads) thread.off('message', listen);
  return counts;
}
