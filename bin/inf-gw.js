#!/usr/bin/env node
// Checks the Node version, then loads the program. Uses only syntax that an old Node can parse.
const NEEDED = 26;

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  console.error(
    `inf-gw needs Node ${NEEDED} or newer; this is ${process.version}. In a checkout, \`npx inf-gw\` uses the Node version that the project pins.`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv.slice(2));
}
