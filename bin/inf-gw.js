#!/usr/bin/env node
// Checks the Node version, then loads the program. Written so that an old Node can read it.
const NEEDED = 26;

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  console.error(
    `inf-gw needs Node ${NEEDED} or newer; this is ${process.version}. In a checkout, \`npx inf-gw\` uses the Node that the project pins.`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('../dist/cli/main.js');
  await main(process.argv.slice(2));
}
