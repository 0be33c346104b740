/**
 * Builds the executable (`npm run build:executable`): Node itself with the program, its threads and native code inside, as one
 * file for the system that it is built on. The folder that it goes into can be named; otherwise it is dist/.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { THREADS } from '../src/core/threads.ts';
import { BUNDLING, licensesOf, MAIN, REQUIRE, ROOT } from './bundling.ts';

const { platform, arch, execPath } = process;
const NAME = `inf-gw-${platform}-${arch}${platform === 'win32' ? '.exe' : ''}`;
const ADDON = createRequire(import.meta.url).resolve(`better-sqlite3/${platform}-${arch}`);
const ADDON_FILE = join(dirname(ADDON), `../prebuilds/${platform}-${arch}.node`);

/** better-sqlite3 looks for its native part in its own folder, which the executable does not have. */
const unpackedAddon: Plugin = {
  name: 'unpacked-addon',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/binding$/ }, ({ resolveDir }) =>
      resolveDir === dirname(ADDON) ? { path: join(ROOT, 'src/state/sqlite/unpacked-addon.ts') } : undefined,
    );
  },
};

/** Puts the program as one module, and each thread as one script, into a folder. Returns the assets by their names. */
async function bundle(folder: string): Promise<Record<string, string>> {
  const options = { ...BUNDLING, outdir: folder, plugins: [...BUNDLING.plugins, unpackedAddon] };
  const main = await build({
    ...options,
    metafile: true,
    stdin: {
      contents: `import { main } from './src/${MAIN}.ts'; await main(process.argv.slice(2));`,
      resolveDir: ROOT,
      sourcefile: 'main.ts',
    },
    format: 'esm',
    banner: { js: REQUIRE },
  });
  const threads = await build({
    ...options,
    metafile: true,
    entryPoints: THREADS.map((name) => `src/${name}.ts`),
    outbase: 'src',
    // A thread can begin with a text only if that is a script.
    format: 'cjs',
    // What comes from beside a module is not asked for in the executable.
    logOverride: { ...BUNDLING.logOverride, 'empty-import-meta': 'silent' },
  });
  const licenses = join(folder, 'LICENSES.txt');
  writeFileSync(licenses, licensesOf([main, threads].flatMap(({ metafile }) => Object.keys(metafile.inputs))));
  const hash = createHash('sha256').update(readFileSync(ADDON_FILE)).digest('hex');
  return {
    ...Object.fromEntries(THREADS.map((name) => [name, join(folder, `${name}.js`)])),
    [`${hash}/better-sqlite3.node`]: ADDON_FILE,
    'LICENSES.txt': licenses,
  };
}

/** Without its symbols Node is a fifth smaller. Returns the path of the copy. */
function strippedNode(folder: string): string {
  const path = join(folder, 'node');
  copyFileSync(execPath, path);
  execFileSync('strip', [path]);
  return path;
}

/** Returns the path of the executable. */
export async function buildExecutable(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const output = join(folder, NAME);
  const parts = mkdtempSync(join(folder, 'parts-'));
  try {
    const config = {
      main: join(parts, 'stdin.js'),
      mainFormat: 'module',
      executable: platform === 'linux' ? strippedNode(parts) : execPath,
      output,
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
      // bin/inf-gw.js says why. Other options may still come from NODE_OPTIONS.
      execArgv: ['--disable-sigusr1'],
      assets: await bundle(parts),
    };
    writeFileSync(join(parts, 'config.json'), JSON.stringify(config));
    execFileSync(execPath, ['--build-sea', join(parts, 'config.json')], { stdio: ['ignore', 'ignore', 'inherit'] });
    // macOS runs no file whose signature does not match; this one says nothing about who built it.
    if (platform === 'darwin') execFileSync('codesign', ['--sign', '-', '--force', output]);
    return output;
  } finally {
    rmSync(parts, { recursive: true });
  }
}

if (import.meta.main) {
  const path = await buildExecutable(process.argv[2] ?? join(ROOT, 'dist'));
  console.log(`${path}: ${(statSync(path).size / 1e6).toFixed(1)} MB`);
}
