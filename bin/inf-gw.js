#!/usr/bin/env node
// Checks the Node version, then loads the program. Uses only syntax that an old Node can parse.
const NEEDED = [22, 19];

// At this signal Node would open its debugger, in which any local user reads the keys of the providers. Others send it for
// their own ends, logrotate among them. First of all, since until here it would.
process.on('SIGUSR1', () => {});

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  // A package has no sources.
  const isCheckout = (await import('node:fs')).existsSync(new URL('../src', import.meta.url));
  const needed = `Node ${NEEDED.join('.')} or newer`;
  const remedy = isCheckout
    ? 'In this checkout, `npx inf-gw` uses the Node version that the project pins.'
    : `Install ${needed}, or use the executable, which contains Node.`;
  console.error(`inf-gw needs ${needed}; this is ${process.version}. ${remedy}`);
  process.exitCode = 1;
} else {
  // To import names from these would make Node load all that they export.
  const { existsSync } = process.getBuiltinModule('node:fs');
  const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);
  const isThere = (path) => existsSync(new URL(path, import.meta.url));
  // Without the packages that build (`npm ci --omit=dev`) a checkout has only the sources.
  const isBuilt = isThere('../dist/cli/compile-cache.cjs');
  // Before the program, so that what V8 has compiled of it is kept.
  const { keepCompiled, loadScript } = isBuilt
    ? require('../dist/cli/compile-cache.cjs')
    : await import('../src/cli/compile-cache.ts');
  keepCompiled();
  // In a checkout `serve` is one script by itself.
  const isAlone = process.argv[2] === 'serve' && isThere('../dist/cli/serve-main.script.js');
  const { main } = isAlone
    ? loadScript(require.resolve('../dist/cli/serve-main.script.js'))
    : await import(isBuilt ? '../dist/cli/main.js' : '../src/cli/main.ts');
  await main(process.argv.slice(2));
}
