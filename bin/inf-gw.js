#!/usr/bin/env node
// Checks the Node version, then loads the program. Uses only syntax that an old Node can parse.
import { existsSync } from 'node:fs';

const NEEDED = [22, 19];

// At this signal Node would open its debugger, in which any local user reads the keys of the providers. Others send it for
// their own ends, logrotate among them. First of all, since until here it would.
process.on('SIGUSR1', () => {});

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `inf-gw needs Node ${NEEDED.join('.')} or newer; this is ${process.version}. In a checkout, \`npx inf-gw\` uses the Node version that the project pins.`,
  );
  process.exitCode = 1;
} else {
  // `serve` has files of its own in a checkout: they are fewer than those of all commands.
  const names = process.argv[2] === 'serve' ? ['serve-main', 'main'] : ['main'];
  const built = names.map((name) => new URL(`../dist/cli/${name}.js`, import.meta.url)).find((url) => existsSync(url));
  // Without the packages that build (`npm ci --omit=dev`) a checkout has only the sources.
  const { main } = await import(built === undefined ? '../src/cli/main.ts' : built.href);
  await main(process.argv.slice(2));
}
