/** Loaded into a gateway before it starts: from one SIGUSR2 to the next its event loop comes round far too late. */
const BLOCK_MS = 250;
let isBlocking = false;

function block() {
  if (!isBlocking) return;
  const until = performance.now() + BLOCK_MS;
  while (performance.now() < until);
  // By way of the loop, so that all that waits has its turn in between.
  setTimeout(block, 1);
}

process.on('SIGUSR2', () => {
  isBlocking = !isBlocking;
  block();
});
