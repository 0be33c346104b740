/**
 * Runs the tests, all of them or the files that are named: the files of a folder in the same process, with temporary files in
 * memory and compiled code shared by all processes.
 */
import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';

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

/** Folders whose files mostly wait, or take long: they start first, so that none of them runs alone at the end. */
const FIRST = [
  'nodes',
  'slow-readers',
  'disks',
  'crash',
  'packaging',
  'http',
  'secrets',
  'control',
  'workers',
  'ledger',
  'cli',
  'state',
  'races',
  'hostile',
  'tui',
];
/** Files in one process. More would let a few processes run alone at the end. */
const MOST_TOGETHER = 6;
/** Files of unit tests in one process: it takes longer to load what they test than to test it. */
const MOST_UNITS_TOGETHER = 30;

/** Files that run in one process, one after the other, since to start one and load the program takes half a second. */
interface Group {
  readonly folder: string;
  readonly files: readonly string[];
}

function groupsOf(files: readonly string[]): Group[] {
  const folders = Map.groupBy(files, (file) => dirname(file));
  const groups = [...folders].flatMap(([folder, all]) => {
    const most = folder.startsWith('test/unit/') ? MOST_UNITS_TOGETHER : MOST_TOGETHER;
    const count = Math.ceil(all.length / most);
    return Array.from({ length: count }, (_, rest) => ({ folder, files: all.filter((_, i) => i % count === rest) }));
  });
  const rank = ({ folder }: Group) => {
    const place = FIRST.indexOf(folder.split('/')[1] ?? '');
    return place < 0 ? FIRST.length : place;
  };
  return groups.toSorted((a, b) => rank(a) - rank(b));
}

/**
 * Writes a test file that runs those of the group. Hooks of each are its own, since each is a suite. It fails if the process
 * ends before all have run.
 */
function writeGroup({ files }: Group, index: number): string {
  const path = join(folder, 'groups', `${index}.mjs`);
  const suites = files.map((file) => {
    const [name, url] = [file, pathToFileURL(resolve(file)).href].map((text) => JSON.stringify(text));
    return `describe(${name}, async () => { after(() => { left--; }); await import(${url}); });`;
  });
  const lines = [
    "import { after, describe } from 'node:test';",
    `let left = ${files.length};`,
    "process.once('exit', () => { if (left > 0) process.exitCode = 1; });",
    ...suites,
  ];
  writeFileSync(path, lines.join('\n'));
  return path;
}

const named = process.argv.slice(2);
const files = globSync(named.length > 0 ? named : 'test/**/*.test.ts').toSorted();
if (files.length === 0) throw new Error(`no test files: ${named.join(' ')}`);
mkdirSync(join(folder, 'groups'));
// One more than there are cores: most tests wait some of the time.
const results = run({ files: groupsOf(files).map(writeGroup), concurrency: availableParallelism() + 1 });
results.on('test:fail', () => {
  process.exitCode = 1;
});
results.compose(new spec()).pipe(process.stdout);
