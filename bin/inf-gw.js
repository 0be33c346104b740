#!/usr/bin/env node
// Checks the Node version, then loads the program. Uses only syntax that an old Node can parse.
const NEEDED = [22, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `inf-gw needs Node ${NEEDED.join('.')} or newer; this is ${process.version}. In a checkout, \`npx inf-gw\` uses the Node version that the project pins.`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv.slice(2));
}
