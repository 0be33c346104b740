/**
 * Listen addresses: checks that one is free, and turns listen errors into messages for the
 * operator.
 */

import { createServer } from 'node:net';
import { formatAddress, type ListenAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';

/**
 * Throws a UserError if the address is in use. Workers listen with SO_REUSEPORT, so without this check a second gateway could
 * silently share the port. `setting` is the name of the config field.
 */
export function assertFree({ host, port }: ListenAddress, setting = 'listen'): Promise<void> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) => reject(explainListenError(error, { host, port }, setting)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}

/** A listen address, or a socket that is already bound. */
interface ListenPlace extends ListenAddress {
  readonly socket?: number | undefined;
}

/** Converts a listen error to a UserError that contains the remedy. */
export function explainListenError(
  error: NodeJS.ErrnoException,
  { host, port, socket }: ListenPlace,
  setting = 'listen',
): Error {
  if (socket !== undefined) {
    return new UserError(
      `cannot listen on the socket that systemd passed (file descriptor ${socket}): ${error.message}; ` +
        'ListenStream= in the socket unit must be an address and a port',
    );
  }
  const address = formatAddress({ host, port });
  const advice: Record<string, string> = {
    EADDRINUSE: `${address} is in use, perhaps by another inf-gw serve; stop it, or set another \`${setting}:\` address in the config`,
    EACCES: `permission denied to listen on ${address}; set a \`${setting}:\` port above 1023 in the config`,
    EADDRNOTAVAIL: `${address} is not an address of this machine; set another \`${setting}:\` address in the config`,
    ENOTFOUND: `unknown host name ${host}; set another \`${setting}:\` address in the config`,
  };
  return new UserError(advice[error.code ?? ''] ?? `cannot listen on ${address}: ${error.message}`);
}
