/**
 * Runs the tests, all of them, those of a tier (`--tier check` or `--tier proof`), those of HTTP on Node's server (`--http node`),
 * or the files that are named: in a few processes that each take the next file, with temporary files in memory and compiled code
 * shared by all processes. What `--beside` names are scripts of package.json that run meanwhile. In the end it says which files
 * took the most core-seconds, or with `--costs` what each of them took.
 */
import { spawn } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { coreSeconds } from './support/core-seconds.ts';
import { readCosts } from './support/test-queue.ts';

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

/** How many of the dearest files are named in the end, unless all are. */
const SHOWN_COSTS = 10;

/** Folders whose files take long: they start first, so that none of them runs alone at the end. */
const FIRST = [
  'nodes',
  'slow-readers',
  'secrets',
  'packaging',
  'disks',
  'crash',
  'hostile',
  'takeover',
  'control',
  'workers',
  'tui',
  'cli',
  'state',
  'ledger',
  'http',
  'races',
];

/**
 * Folders of what takes whole processes, real ends of them, several databases, many terminals or long waits. What is
 * in none of them is the check.
 */
const PROOF: ReadonlySet<string> = new Set([
  ...['nodes', 'retention', 'disks', 'crash', 'packaging', 'takeover', 'streams', 'hostile', 'hostile-dialects'],
  ...['races', 'secrets', 'fuzz', 'slow-readers', 'writers', 'run', 'deploy', 'faults', 'workers', 'control'],
  ...['hardening', 'clients', 'failover'],
]);
/** Files of other folders. One terminal is in the check, and so are some histories of the simulated ledger. */
const PROOF_FILES = [
  /^test\/tui\/(?:terminal-(?!actions)|shared-session|slow-state)/,
  /^test\/world\/histories/,
  /^test\/ledger\/shared-proof/,
  // Real processes: their signals under npm, and their end without one.
  /^test\/cli\/(?:npm|serve-stop|processes)\.test/,
  // Writers beside a backup, restores that are killed, and a log of 64 MB.
  /^test\/state\/backups\.test|^test\/unit\/state\/log-bound\.test/,
  // More random histories of what `test/ledger/local` and `test/world` begin with.
  /^test\/unit\/ledger\/model\.test/,
  // The tests' own PostgreSQL.
  /^test\/postgres\/server\.test/,
];

/** Folders that hold the two HTTP servers to the same promises. */
const OF_HTTP: ReadonlySet<string> = new Set(['http', 'hardening', 'hostile', 'cors', 'clients']);

function folderOf(file: string): string {
  return file.split('/')[1] ?? '';
}

function isProof(file: string): boolean {
  return PROOF.has(folderOf(file)) || PROOF_FILES.some((pattern) => pattern.test(file));
}

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

/** Runs a script of package.json. What it says is told in one piece, after the tests, and its failure is that of the run. */
function runBeside(script: string): Promise<() => void> {
  const output: Buffer[] = [];
  const child = spawn(process.execPath, ['--run', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  process.once('exit', () => child.kill());
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => output.push(piece));
  return new Promise((resolve) => {
    child.once('close', (status, signal) => {
      if (status !== 0) process.exitCode = 1;
      const end = status === 0 ? 'passed' : `failed: ${signal ?? `status ${status}`}`;
      resolve(() => console.log(`${Buffer.concat(output).toString('utf8')}${script} ${end}`));
    });
  });
}

const { values, positionals: named } = parseArgs({
  options: {
    tier: { type: 'string' },
    http: { type: 'string' },
    costs: { type: 'boolean', default: false },
    beside: { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});
const { tier, http, costs } = values;
const beside = values.beside.map(runBeside);
if (tier !== undefined && tier !== 'check' && tier !== 'proof') throw new Error(`--tier ${tier}: check or proof`);
if (http !== undefined && http !== 'node') throw new Error(`--http ${http}: node`);
if (http !== undefined) process.env.INF_GW_TESTS_HTTP = http;
const files = globSync(named.length > 0 ? named : 'test/**/*.test.ts')
  .filter((file) => tier === undefined || isProof(file) === (tier === 'proof'))
  .filter((file) => http === undefined || named.length > 0 || OF_HTTP.has(folderOf(file)))
  .toSorted();
if (files.length === 0) throw new Error(`no test files: ${named.join(' ')}`);
for (const state of ['begun', 'ended']) mkdirSync(join(folder, state));
const ordered = files.toSorted((a, b) => rankOf(a) - rankOf(b));
// One more than there are cores: most tests wait some of the time.
const slots = Math.min(availableParallelism() + 1, files.length);
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
    for (const tell of await Promise.all(beside)) tell();
    console.log(`${coreSeconds().toFixed(0)} core-seconds, of which`);
    for (const { file, seconds } of ended.slice(0, costs ? undefined : SHOWN_COSTS)) {
      console.log(`${seconds.toFixed(1).padStart(6)}  ${file}`);
    }
  });
});
results.compose(new spec()).pipe(process.stdout);
