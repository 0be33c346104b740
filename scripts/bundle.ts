/**
 * Builds the program (`npm run build`): bundles src/ and the packages that it imports into a few files in dist/, since a start
 * that loads hundreds takes three times as long. `serve` is one more file by itself. With `--for-tests` also into build/, whose
 * modules tests can change. With `--for-package` (`npm pack`) it also writes the man page, and the files are small: minified, and
 * without the packages that npm installs beside them.
 */
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { THREADS } from '../src/core/threads.ts';
import { BUNDLING, COMPILE_CACHE, licensesOf, MAIN, REQUIRE, ROOT, readPackage, SERVE } from './bundling.ts';
import { writeManPage } from './man-page.ts';

/** Each stays in its folder, and shared code is one folder down as well: URLs between them agree. */
const ENTRIES = [MAIN, ...THREADS].map((name) => `${name}.ts`);
/** These share little with the rest, or start by themselves: each file less saves a start half a millisecond and more. */
const ALONE = [
  'ledger/thread.ts',
  'state/sqlite/checkpoint-thread.ts',
  'state/sqlite/flush-thread.ts',
  'tokens/thread.ts',
];
/** What few gateways need, and what V8 would else keep in memory as text: `serve` loads each from a file of its own. */
const SELDOM = [
  '@aws-sdk/credential-provider-node',
  '@smithy/eventstream-codec',
  '@smithy/signature-v4',
  'google-auth-library',
  'pg',
  'pino-pretty',
  'undici/lib/llhttp/llhttp-wasm.js',
];
/** What test/crash and test/takeover import beside the program, to change it. */
const CHANGED_BY_TESTS = [
  'http/exchange.ts',
  'ledger/local/local-engine.ts',
  'proxy/dispatch.ts',
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

const fileOf = (name: string): string => `packages/${name.replace('@', '').replaceAll(/\W+/g, '-')}.cjs`;

const seldom: Plugin = {
  name: 'seldom',
  setup({ onResolve }) {
    onResolve({ filter: /^(?:[@\w]|\.\.\/)/ }, ({ path }) => {
      // Within its package, a file is named from the one beside.
      const name = SELDOM.find((each) => each === path || (path.startsWith('../') && each.endsWith(path.slice(2))));
      return name === undefined ? undefined : { path: `../${fileOf(name)}`, external: true };
    });
  },
};

/** A script is strict only if it begins so, which esbuild's own line behind this does not. */
const SCRIPT = "'use strict';\nconst importMetaUrl = require('node:url').pathToFileURL(__filename).href;";

/**
 * A script, whose names stay for stack traces. The rest is minified, since V8 keeps the text in memory: a byte for each character
 * if all are ASCII.
 */
function script(entry: string, file: string): BuildOptions {
  return {
    ...BUNDLING,
    define: { ...BUNDLING.define, 'import.meta.url': 'importMetaUrl' },
    entryPoints: [entry],
    outfile: `dist/${file}`,
    format: 'cjs',
    minifySyntax: true,
    minifyWhitespace: true,
    // LICENSES.txt has them whole.
    legalComments: 'none',
    external: NEVER_BUNDLED,
    banner: { js: SCRIPT },
  };
}

/**
 * `serve` as one script: a start that loads the same as modules in some forty files takes a ninth more of the CPU. It is a function
 * with the parameters of a CommonJS module, which `cli/compile-cache.ts` calls.
 */
const SERVE_ALONE = [
  {
    ...script(`src/${SERVE}.ts`, `${SERVE}.script.js`),
    plugins: [...BUNDLING.plugins, seldom],
    banner: { js: `(function (exports, require, module, __filename, __dirname) { ${SCRIPT}` },
    footer: { js: '})' },
  },
  ...SELDOM.map((name) => script(name, fileOf(name))),
];

/** What was built here before. Executables beside it were built by another command. */
function builtIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('inf-gw-')) : [];
}

/** Entries in a bundle share files, and each bundle has its own. */
function modules(folder: string, entries: readonly string[]): BuildOptions {
  return {
    ...BUNDLING,
    entryPoints: entries.map((path) => `src/${path}`),
    outbase: 'src',
    outdir: folder,
    chunkNames: 'chunks/[name]-[hash]',
    splitting: entries.length > 1,
    format: 'esm',
    minify: isForPackage,
    // The package has the file itself.
    ...(isForPackage && { define: { ...BUNDLING.define, BUILT_EXAMPLE: 'undefined' }, charset: 'utf8' }),
    external: installed,
    banner: { js: REQUIRE },
  };
}

/** Puts all of this into the folder, in place of what was there. Returns the paths of the sources. */
async function bundle(folder: string, bundles: readonly BuildOptions[]): Promise<string[]> {
  const outdir = join(ROOT, folder);
  // What was built before stays if this fails.
  const built = await Promise.all(bundles.map((options) => build({ ...options, metafile: true, write: false })));
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
const paths = await bundle('dist', [
  ...[shared, ...alone.map((entry) => [entry])].map((entries) => modules('dist', entries)),
  script(`src/${COMPILE_CACHE}.ts`, `${COMPILE_CACHE}.cjs`),
  ...(isForPackage ? [] : SERVE_ALONE),
]);
writeFileSync(join(ROOT, 'dist/LICENSES.txt'), licensesOf(paths));
if (isForPackage) await writeManPage();
// Tests change a module for all that import it.
if (process.argv.includes('--for-tests')) await bundle('build', [modules('build', [...ENTRIES, ...CHANGED_BY_TESTS])]);
