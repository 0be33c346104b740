/** The address of the metrics: an HTTP server of its own, which answers /metrics and nothing else. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { createServer } from '../core/node-http.ts';
import { assertFree, explainListenError } from '../http/address.ts';
import { CONTENT_TYPE } from './page.ts';

/** Prometheus keeps one. A proxy or a second Prometheus have more, but not many. */
const MAX_CONNECTIONS = 32;
/** For a request to arrive, in milliseconds. */
const REQUEST_MS = 5_000;

/**
 * Where two processes can listen on the same address: the next one does before the one that it takes
 * over from stops.
 */
const CAN_SHARE = process.platform === 'linux' || process.platform === 'freebsd';

/** The field of the config, for messages. */
const SETTING = 'metrics';

/** Prints the page. */
type Print = () => Promise<string>;

export class MetricsServer {
  readonly #server: Server;
  readonly #print = Promise.withResolvers<Print>();
  /** The page that is being printed: for everybody who asks meanwhile. */
  #printing: Promise<string> | undefined;

  /**
   * Listens; whoever asks waits until there is a page to print. Unless it takes the address over from
   * another process, that must be free. Rejects with a UserError.
   */
  static async listen(address: ListenAddress, isTakenOver: boolean): Promise<MetricsServer> {
    if (!isTakenOver && address.port !== 0) await assertFree(address, SETTING);
    const server = new MetricsServer();
    await server.#listen(address);
    return server;
  }

  private constructor() {
    this.#server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
      void this.#answer(request, response);
    });
    this.#server.maxConnections = MAX_CONNECTIONS;
    // The gateway does not run for its metrics.
    this.#server.unref();
  }

  get address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  /** From now on this is what is printed. */
  serve(print: Print): void {
    this.#print.resolve(print);
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #listen({ host, port }: ListenAddress): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(explainListenError(error, { host, port }, SETTING)));
      this.#server.listen({ host, port, exclusive: true, reusePort: CAN_SHARE }, resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== '/metrics') return send(response, 404, 'Only /metrics is here.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, 405, 'Only GET and HEAD are allowed.\n');
    }
    try {
      this.#printing ??= this.#print.promise
        .then((print) => print())
        .finally(() => {
          this.#printing = undefined;
        });
      send(response, 200, await this.#printing, CONTENT_TYPE);
    } catch {
      // A thread has died, and the process ends.
      send(response, 500, 'The figures cannot be read.\n');
    }
  }
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}
