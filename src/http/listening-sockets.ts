/** The sockets that a server listens with: one for its address, or any number that listen already. */
import { type AddressInfo, createServer, Server } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { explainListenError } from './address.ts';

/**
 * How many connections may wait to be accepted. Of more than that, the system drops the first packets: clients try again
 * after 1, 3, 7 and more seconds, and some are reset. So as many as the system allows, on Linux `net.core.somaxconn`,
 * 4,096 by default. Node's own figure of 511 is used up where a busy machine lets a process stand still for a moment.
 */
const MAX_WAITING_CONNECTIONS = 65_535;

interface Address extends ListenAddress {
  /** Whether other threads listen at the same port. */
  readonly reusePort: boolean;
}

export class ListeningSockets {
  readonly #server: Server;
  /** For all descriptors but the first: a server has only one socket. */
  readonly #others: Server[] = [];

  constructor(server: Server) {
    this.#server = server;
  }

  /** Each accepts connections for the server. */
  get all(): readonly Server[] {
    return [this.#server, ...this.#others];
  }

  /**
   * Listens with the sockets of these descriptors, or at the address if there are none. Resolves with
   * the address. Rejects with a UserError.
   */
  async listen(address: Address, [first, ...others]: readonly number[]): Promise<AddressInfo> {
    await listen(this.#server, first === undefined ? address : { fd: first }, address);
    for (const fd of others) {
      const other = createServer({ noDelay: true }, (socket) => this.#server.emit('connection', socket));
      this.#others.push(other);
      await listen(other, { fd }, address);
    }
    return this.#server.address() as AddressInfo;
  }

  /** Accepts nothing more. Closes no connection. */
  close(): void {
    // The method of an HTTP server closes idle connections as well.
    for (const server of this.all) Server.prototype.close.call(server);
  }
}

function listen(server: Server, where: Address | { readonly fd: number }, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explainListenError(error, address)));
    // Only as an argument it counts for a descriptor as well.
    server.listen(where, MAX_WAITING_CONNECTIONS, resolve);
  });
}
