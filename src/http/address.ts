/** Who may listen at an address: claims one that several threads will share, and explains why one cannot be had. */

import { createServer } from 'node:net';
import { formatAddress, type ListenAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';

/** Throws a UserError where somebody listens there, although the system would let more of them share the port. */
export function assertFree({ host, port }: ListenAddress): Promise<void> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => reject(explainListenError(error, { host, port })));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

/** A fault of listening in words that say what to do. */
export function explainListenError(error: NodeJS.ErrnoException, { host, port }: ListenAddress): Error {
  const address = formatAddress({ host, port });
  const advice: Record<string, string> = {
    EADDRINUSE: `${address} is in use, maybe by another inf-gw serve; stop it, or set another \`listen:\` in the config`,
    EACCES: `${address} may not be used by this user; take a port above 1023 with \`listen:\` in the config`,
    EADDRNOTAVAIL: `${address} is no address of this machine; set another \`listen:\` in the config`,
    ENOTFOUND: `the host name ${host} is not known; set another \`listen:\` in the config`,
  };
  return new UserError(advice[error.code ?? ''] ?? `cannot listen on ${address}: ${error.message}`);
}
