/**
 * Has gateways in a test's process start their threads from `dist/`: to load the program from its many sources takes a
 * thread twice as long as from the few files that are built of them.
 */
import { readdirSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import threads, { type WorkerOptions } from 'node:worker_threads';

const ROOT = join(import.meta.dirname, '..', '..');
const SOURCE = join(ROOT, 'src/');
/** What a build writes last. */
const BUILT_LAST = 'dist/LICENSES.txt';

/** What has changed since the program was built, by its path from the root: files, and folders that others are gone from. */
export function changedSinceBuilt(root = ROOT): readonly string[] {
  const builtAtMs = statSync(join(root, BUILT_LAST), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return [
    'src',
    ...readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((name) => join('src', name)),
  ]
    .filter((path) => statSync(join(root, path)).mtimeMs > builtAtMs)
    .toSorted();
}

/** Only for a program that was built from the sources as they are. */
export function useBuiltThreads(): void {
  threads.Worker = class extends threads.Worker {
    constructor(module: string | URL, options?: WorkerOptions) {
      super(module instanceof URL ? builtOf(fileURLToPath(module)) : module, options);
    }
  };
  syncBuiltinESMExports();
}

function builtOf(path: string): string {
  return path.startsWith(SOURCE) ? join(ROOT, 'dist', path.slice(SOURCE.length).replace(/\.ts$/, '.js')) : path;
}
