/** As bin/inf-gw.js, from build/: the program, in which a preload can import some modules and change them. */
const { main } = await import('../../build/cli/main.js');
await main(process.argv.slice(2));
