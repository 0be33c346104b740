/** Fixed ports, for tests in which several processes use the same one. */
import { createServer } from 'node:net';
import { Random } from './random.ts';

/** Below the ephemeral ports, so that the system gives it to nobody else meanwhile. */
const FIRST_PORT = 12_000;
const LAST_PORT = 31_999;

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const random = new Random(process.pid * 7_919 + Date.now());
  while (true) {
    const port = random.between(FIRST_PORT, LAST_PORT);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)));
  });
}
