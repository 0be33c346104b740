/**
 * Runs the tests, all of them, those of a tier (`--tier check` or `--tier proof`), or the files that are named: in a few processes that each take the next file, with temporary files in memory and compiled code
 * shared by all processes. What `--after` and `--beside` name are scripts of package.json: the tests wait for the one, and the others
 * run meanwhile. In the end it says which files took the most core-seconds, or with `--costs` what each of them took.
 */
import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { changedSinceBuilt } from './support/built-threads.ts';
import { coreSeconds } from './support/core-seconds.ts';
import { readCosts } from './support/test-queue.ts';
import { folderOf, isIn, isTier } from './support/tiers.ts';

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
// Terminals show times in the zone of the reader.
process.env.TZ = 'UTC';
// What the files of a run share is made once for all of them.
process.env.INF_GW_TESTS_FOLDER = folder;
// By it the program knows that npm runs it, and says `npx inf-gw` where it names a command.
delete process.env.npm_lifecycle_event;
// A third of the time of a short test goes into stripping types and compiling what others have compiled as well.
process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache');

/** How many of the most expensive files are named in the end, unless all are. */
const SHOWN_COSTS = 10;

/** Folders whose files take long: they start first, so that none of them runs alone at the end. */
const FIRST = [
  'nodes',
  'world',
  'ledger',
  'run',
  'packaging',
  'secrets',
  'fuzz',
  'slow-readers',
  'disks',
  'crash',
  'hostile',
  'takeover',
  'control',
  'workers',
  'tui',
  'cli',
  'state',
  'faults',
  'http',
  'races',
];

function rankOf(file: string): number {
  const place = FIRST.indexOf(folderOf(file));
  return place < 0 ? FIRST.length : place;
}

/** Writes a test file that runs those that no other process has begun. */
function writeQueue(files: readonly string[], slot: number): string {
  const path = join(folder, `slot-${slot}.mjs`);
  const lines = [
    `import { runQueue } from ${JSON.stringify(import.meta.resolve('./support/test-queue.ts'))};`,
    `await runQueue(${JSON.stringify(files)}, ${JSON.stringify(folder)});`,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

/** How a script of package.json has ended. */
interface Ended {
  readonly hasPassed: boolean;
  /** Prints what it said, in one piece. */
  tell(): void;
}

/** Runs a script of package.json. Its failure is that of the run. */
function runScript(script: string): Promise<Ended> {
  const output: Buffer[] = [];
  const child = spawn(process.execPath, ['--run', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill());
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => output.push(piece));
  return new Promise((resolve) => {
    child.once('close', (status, signal) => {
      if (status !== 0) process.exitCode = 1;
      const end = status === 0 ? 'passed' : `failed: ${signal ?? `status ${status}`}`;
      const tell = () => console.log(`${Buffer.concat(output).toString('utf8')}${script} ${end}`);
      resolve({ hasPassed: status === 0, tell });
    });
  });
}

const { values, positionals: named } = parseArgs({
  options: {
    tier: { type: 'string' },
    costs: { type: 'boolean', default: false },
    after: { type: 'string' },
    beside: { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const { tier, costs } = values;
const beside = values.beside.map(runScript);
if (tier !== undefined && !isTier(tier)) throw new Error(`--tier ${tier}: check or proof`);
if (tier !== undefined) process.env.INF_GW_TESTS_TIER = tier;
const files = globSync(named.length > 0 ? named : 'test/**/*.test.ts')
  .filter((file) => tier === undefined || isIn(tier, file))
  .toSorted();
if (files.length === 0) throw new Error(`no test files: ${named.join(' ')}`);
for (const state of ['begun', 'ended']) mkdirSync(join(folder, state));
const ordered = files.toSorted((a, b) => rankOf(a) - rankOf(b));
// More than there are cores: most tests wait some of the time, and those of the proof, for processes and their ends, most of it.
const slots = Math.min((tier === 'proof' ? 2 : 1) * availableParallelism() + 1, files.length);
if (values.after !== undefined) {
  const { hasPassed, tell } = await runScript(values.after);
  tell();
  if (!hasPassed) process.exit();
}
const [changed, ...alsoChanged] = changedSinceBuilt();
// Nobody tests what is no longer in the sources.
if (changed === undefined && tier === 'check') process.env.INF_GW_TESTS_THREADS = 'built';
const queues = Array.from({ length: slots }, (_, slot) => writeQueue(ordered, slot));
const results = run({ files: queues, concurrency: slots });
results.on('test:fail', () => {
  process.exitCode = 1;
});
results.on('end', () => {
  const ended = readCosts(ordered, folder);
  const complete = new Set(ended.map(({ file }) => file));
  for (const file of ordered.filter((name) => !complete.has(name))) {
    console.error(`not run to its end: ${file}`);
    process.exitCode = 1;
  }
  // After the summary of the tests, and when all processes have ended and are counted.
  process.once('beforeExit', async () => {
    for (const { tell } of await Promise.all(beside)) tell();
    if (changed !== undefined) {
      const more = alsoChanged.length === 0 ? '' : ` and ${alsoChanged.length} more`;
      console.error(`processes ran dist/, which is older than ${changed}${more}: npm run build`);
    }
    console.log(`${coreSeconds().toFixed(0)} core-seconds, of which`);
    for (const { file, seconds } of ended.slice(0, costs ? undefined : SHOWN_COSTS)) {
      console.log(`${seconds.toFixed(1).padStart(6)}  ${file}`);
    }
  });
});
results.compose(new spec()).pipe(process.stdout);
