/** The listening sockets of a server: one for its address, or any number of inherited ones. */
import { type AddressInfo, createServer, Server } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { explainListenError } from './address.ts';

/**
 * Length of the accept queue. When it is full, the system drops SYN packets: clients retry after 1, 3, 7 and more seconds, and
 * some connections are reset. Therefore the maximum, which Linux reduces to `net.core.somaxconn`, 4,096 by default. Node's
 * default of 511 overflows when a busy machine suspends the process for a moment.
 */
const MAX_WAITING_CONNECTIONS = 65_535;

interface Address extends ListenAddress {
  /** Whether other threads listen on the same port. */
  readonly reusePort: boolean;
}

export class ListeningSockets {
  readonly #server: Server;
  /** Servers for all descriptors but the first, since a server has only one socket. */
  readonly #others: Server[] = [];

  constructor(server: Server) {
    this.#server = server;
  }

  /** All servers that accept connections for this server. */
  get all(): readonly Server[] {
    return [this.#server, ...this.#others];
  }

  /**
   * Listens on the sockets of these descriptors, or on the address without any. Resolves with the address. Rejects with a
   * UserError.
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

  /** Stops accepting. Open connections stay open. */
  close(): void {
    // `close` of an HTTP server would also close idle connections.
    for (const server of this.all) Server.prototype.close.call(server);
  }
}

function listen(server: Server, where: Address | { readonly fd: number }, address: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(explainListenError(error, address)));
    // For a descriptor, Node uses the backlog only if it is a separate argument.
    server.listen(where, MAX_WAITING_CONNECTIONS, resolve);
  });
}
