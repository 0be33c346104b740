/**
 * Builds the program (`npm run build`): bundles src/ and the packages that it imports into a few files in dist/, since a start
 * that loads hundreds takes three times as long. With `--for-tests` also into build/, whose modules tests can change. With
 * `--for-package` (`npm pack`) the files are small: minified, and without the packages that npm installs beside them.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { THREADS } from '../src/core/threads.ts';
import { BUNDLING, licensesOf, MAIN, REQUIRE, ROOT, readPackage, SERVE } from './bundling.ts';

/** Each stays in its folder, and shared code is one folder down as well: URLs between them agree. */
const ENTRIES = [MAIN, ...THREADS].map((name) => `${name}.ts`);
/** These share little with the rest, or start by themselves: each file less saves a start half a millisecond and more. */
const ALONE = [`${SERVE}.ts`, 'ledger/thread.ts', 'state/sqlite/checkpoint-thread.ts', 'tokens/thread.ts'];
/** What test/crash and test/takeover import beside the program, to change it. */
const CHANGED_BY_TESTS = [
  'http/exchange.ts',
  'ledger/local/local-engine.ts',
  'proxy/pipeline.ts',
  'relay/meter.ts',
  'state/sqlite/journal.ts',
  'state/sqlite/migrations.ts',
  'tokens/counter.ts',
  'upstream/attempt.ts',
  'upstream/http.ts',
];
/** Native code, and data of 2 MB that a thread loads only if there is something to count. */
const NEVER_BUNDLED = ['better-sqlite3', 'gpt-tokenizer'];
const isForPackage = process.argv.includes('--for-package');
const installed = isForPackage ? Object.keys(readPackage(ROOT).dependencies ?? {}) : NEVER_BUNDLED;

/** What was built here before. Executables beside it were built by another command. */
function builtIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('inf-gw-')) : [];
}

/** Entries in a bundle share files, and each bundle has its own. Returns the paths of the sources. */
async function bundle(folder: string, bundles: readonly (readonly string[])[]): Promise<string[]> {
  const outdir = join(ROOT, folder);
  const built = await Promise.all(
    bundles.map((entries) =>
      build({
        ...BUNDLING,
        metafile: true,
        // What was built before stays if this fails.
        write: false,
        entryPoints: entries.map((path) => `src/${path}`),
        outbase: 'src',
        outdir,
        chunkNames: 'chunks/[name]-[hash]',
        splitting: entries.length > 1 || entries[0] === `${SERVE}.ts`,
        format: 'esm',
        minify: isForPackage,
        // The package has the file itself.
        ...(isForPackage && { define: { ...BUNDLING.define, BUILT_EXAMPLE: 'undefined' }, charset: 'utf8' }),
        external: installed,
        banner: { js: REQUIRE },
      }),
    ),
  );
  for (const name of builtIn(outdir)) rmSync(join(outdir, name), { recursive: true });
  for (const { path, contents } of built.flatMap(({ outputFiles }) => outputFiles)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  }
  return [...new Set(built.flatMap(({ metafile }) => Object.keys(metafile.inputs)))];
}

// In a package, size counts for more.
const alone = isForPackage ? [] : ALONE;
const shared = ENTRIES.filter((entry) => !alone.includes(entry));
const paths = await bundle('dist', [shared, ...alone.map((entry) => [entry])]);
writeFileSync(join(ROOT, 'dist/LICENSES.txt'), licensesOf(paths));
// Tests change a module for all that import it.
if (process.argv.includes('--for-tests')) await bundle('build', [[...ENTRIES, ...CHANGED_BY_TESTS]]);
