/** Starts the program's threads from files of the program or from assets of the executable. */
import { getAsset, isSea } from 'node:sea';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** The entry modules of threads: their paths in `src/` and in the built program, without the extension. */
export const THREADS = [
  'alerts/thread',
  'audit/thread',
  'gateway/cache-thread',
  'gateway/kept-thread',
  'gateway/worker-thread',
  'ledger/thread',
  'state/sqlite/checkpoint-thread',
  'state/sqlite/flush-thread',
  'tokens/thread',
] as const;

/** Starts a thread. In the executable, the source of its module is an asset of the same name. */
export function startThread(name: (typeof THREADS)[number], options: WorkerOptions = {}): Worker {
  if (isSea()) return new Worker(getAsset(name, 'utf8'), { ...options, eval: true });
  // The path includes the folder, because the bundler moves this code to another folder and into a module or a script.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  return new Worker(new URL(`../${name}.${extension}`, import.meta.url), options);
}
