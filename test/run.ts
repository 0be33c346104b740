/**
 * Runs the tests, all of them or the files that are named: as many at once as there are cores, with temporary files in memory
 * and compiled code shared by all processes.
 */
import { chmodSync, globSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

/** Where Linux has a file system in memory. State files are synced at every commit, which takes a disk most of its time. */
const MEMORY = '/dev/shm';
/** More than all tests together need; containers have 64 MB there unless told otherwise. */
const NEEDED_BYTES = 1024 ** 3;

function temporaryRoot(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize >= NEEDED_BYTES) return MEMORY;
  } catch {
    // No such file system here.
  }
  return tmpdir();
}

const folder = mkdtempSync(join(temporaryRoot(), 'inf-gw-tests-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
// PostgreSQL does not run as root. Another user can pass through this folder to its own, and list nothing.
chmodSync(folder, 0o711);
process.env.TMPDIR = folder;
// What the files of a run share is made once for all of them.
process.env.INF_GW_TESTS_FOLDER = folder;
// By it the program knows that npm runs it, and says `npx inf-gw` where it names a command.
delete process.env.npm_lifecycle_event;
// A third of the time of a short test goes into stripping types and compiling what others have compiled as well.
process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache');

const named = process.argv.slice(2);
const files = globSync(named.length > 0 ? named : 'test/**/*.test.ts').toSorted();
if (files.length === 0) throw new Error(`no test files: ${named.join(' ')}`);
const results = run({ files, concurrency: availableParallelism() });
results.on('test:fail', () => {
  process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
