/** The connection pool of the bare proxies, with the settings of the gateway's own. */
import { Pool } from 'undici';

export function poolTo(port) {
  return new Pool(`http://127.0.0.1:${port}`, {
    pipelining: 1,
    allowH2: false,
    connect: { timeout: 10_000 },
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
