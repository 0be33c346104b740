/**
 * Builds the program (`npm run build`): bundles src/ and most of the packages that it imports into a few files in dist/, since
 * a start that loads hundreds takes three times as long. With `--for-tests` also into build/, whose modules tests can change.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The program, and its threads. Each stays in its folder, and shared code is one folder down as well: URLs between them agree. */
const ENTRIES = ['cli/main.ts', 'ledger/thread.ts', 'tokens/thread.ts', 'gateway/worker-thread.ts'];
/** What test/crash imports beside the program, to change its methods. */
const CHANGED_BY_TESTS = [
  'http/exchange.ts',
  'ledger/local/engine.ts',
  'proxy/pipeline.ts',
  'relay/meter.ts',
  'state/sqlite/journal.ts',
  'tokens/counter.ts',
  'upstream/attempt.ts',
  'upstream/http.ts',
];
/** Packages that are bundled. All others are imported from node_modules. */
const BUNDLED = ['commander', 'ink', 'pino', 'react', 'undici', 'yaml', 'zod'];
/** CommonJS packages require modules of Node. The name is one that no source has. */
const REQUIRE =
  "import { createRequire as bundledRequire } from 'node:module';\nconst require = bundledRequire(import.meta.url);";

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

const others = Object.keys(readPackage(ROOT).dependencies).filter((name) => !BUNDLED.includes(name));

/** Returns the paths of the files that went into the bundle. */
async function bundle(folder: string, entries: readonly string[]): Promise<string[]> {
  const outdir = join(ROOT, folder);
  const { metafile, outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: entries.map((path) => `src/${path}`),
    outbase: 'src',
    outdir,
    chunkNames: 'chunks/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    // Ink's developer tools, which nothing here opens.
    external: [...others, 'react-devtools-core'],
    banner: { js: REQUIRE },
    metafile: true,
    // What was built before stays if this fails.
    write: false,
    logLevel: 'warning',
  });
  rmSync(outdir, { recursive: true, force: true });
  for (const { path, contents } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  return Object.keys(metafile.inputs);
}

/** The licenses of the packages in the bundle, which ask to be passed on with it. */
function licensesOf(paths: readonly string[]): string {
  const folders = paths.map((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? '').filter(Boolean);
  return [...new Set(folders)]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = readPackage(join(ROOT, folder));
      const file = ['LICENSE', 'license', 'LICENSE.md'].map((each) => join(ROOT, folder, each)).find(existsSync);
      return `${name} ${version} (${license})\n\n${file === undefined ? '' : readFileSync(file, 'utf8')}`;
    })
    .join('\n----\n\n');
}

const paths = await bundle('dist', ENTRIES);
writeFileSync(join(ROOT, 'dist/LICENSES.txt'), licensesOf(paths));
if (process.argv.includes('--for-tests')) await bundle('build', [...ENTRIES, ...CHANGED_BY_TESTS]);
