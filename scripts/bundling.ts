/** What both builds, of files for Node and of the executable, have in common: how esbuild bundles, and the licenses of what it bundles. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** The program; its threads are in `src/core/threads.ts`. */
export const MAIN = 'cli/main';
/** What bin/inf-gw.js loads before the program. */
export const COMPILE_CACHE = 'cli/compile-cache';
/** The same for `serve` alone. */
export const SERVE = 'cli/serve-main';

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function readPackage(folder: string): Package {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** What packages import and this program never loads: Ink's developer tools, and what `pg` can use instead of its own code. */
const NEVER_LOADED = /^(?:react-devtools-core|pg-native|pg-cloudflare)$/;
const neverLoaded: Plugin = {
  name: 'never-loaded',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: NEVER_LOADED }, ({ path }) => ({ path, namespace: 'never-loaded' }));
    // undici does without HTTP/2 where Node was built so, and no host is asked by it. What it has of fetch, it loads for forms.
    onResolve({ filter: /^node:http2$|\/web\// }, ({ path, importer }) =>
      importer.includes('/node_modules/undici/') ? { path, namespace: 'never-loaded' } : undefined,
    );
    onLoad({ filter: /^/, namespace: 'never-loaded' }, ({ path }) => ({
      contents: `throw new Error('inf-gw is built without ${path}')`,
    }));
  },
};

/** In sources, a module makes its own `require` for what it loads on first use. Without it, esbuild bundles that as lazily. */
const MADE_REQUIRE = /^const require = createRequire\(import\.meta\.url\);$/m;
const lazy: Plugin = {
  name: 'lazy',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      return MADE_REQUIRE.test(source) ? { contents: source.replace(MADE_REQUIRE, ''), loader: 'ts' } : undefined;
    });
  },
};
/** CommonJS packages require modules of Node. The name is one that no source has. */
export const REQUIRE =
  "import { createRequire as bundledRequire } from 'node:module';\nconst require = bundledRequire(import.meta.url);";

export const BUNDLING: BuildOptions & { readonly plugins: Plugin[] } = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  // The oldest Node that bin/inf-gw.js accepts.
  target: 'node22.19',
  define: {
    BUILT_VERSION: JSON.stringify(readPackage(ROOT).version),
    // undici as it is built into Node: without an HTTP parser that it only tries out.
    esbuildDetection: 'true',
    BUILT_EXAMPLE: JSON.stringify(readFileSync(join(ROOT, 'config.example.yaml'), 'utf8')),
    // Otherwise React's checks for developers are in the bundle, too.
    'process.env.NODE_ENV': '"production"',
  },
  // The dashboard sets that variable, for a React that is not in a bundle.
  logOverride: { 'assign-to-define': 'silent' },
  plugins: [neverLoaded, lazy],
  logLevel: 'warning',
};

/** The licenses of the packages that these files belong to, which ask to be passed on with their code. */
export function licensesOf(paths: readonly string[]): string {
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
