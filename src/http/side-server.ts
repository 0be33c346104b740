/** A separate HTTP server for health checks and metrics, which serves a fixed set of paths. */
import type { AddressInfo, Socket } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { newId } from '../core/ids.ts';
import { assertFree, explainListenError } from './address.ts';
import { hasBody } from './body.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { SENT_HEADERS } from './headers.ts';
import { LlhttpServer } from './llhttp-server.ts';
import { writeParserError } from './raw-response.ts';
import type { HttpRequest, HttpResponse, ParserError } from './server.ts';

/** Maximum number of connections. Prometheus and load balancers keep one each; a proxy or a second scraper needs a few more. */
const MAX_CONNECTIONS = 32;
/** Time for last requests on connections that remain after a takeover, in milliseconds. */
const LEAVING_MS = 2_000;
/** Time limit for a request to arrive, and for its response to be read, in milliseconds. */
const REQUEST_MS = 5_000;
/** Time that an idle connection stays open, in milliseconds. Scrapers connect every 15 s or so. */
const KEEP_ALIVE_MS = 75_000;

/** Whether two processes can listen on the same address. During a takeover, the new process listens before the old one stops. */
const CAN_SHARE = process.platform === 'linux' || process.platform === 'freebsd';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** The page of each path. */
type Pages = ReadonlyMap<string, () => Answer | Promise<Answer>>;

export interface SideServerOptions {
  /** The field of the config, for messages. */
  readonly setting: string;
  /** Another process listens on the address and will stop. Otherwise the address must be free. */
  readonly isTakenOver: boolean;
  /** Whether a request with this `Host` is served. */
  knowsHost(host: string): boolean;
}

export class SideServer {
  readonly #server: LlhttpServer;
  readonly #pages = Promise.withResolvers<Pages>();
  readonly #knowsHost: (host: string) => boolean;
  #isLeaving = false;
  readonly #connections: ConnectionLimiter;
  /** Pending responses. */
  readonly #open = new WeakMap<Socket, HttpResponse>();

  /** Listens. Requests wait until `serve` is called. Rejects with a UserError. */
  static async listen(address: ListenAddress, options: SideServerOptions): Promise<SideServer> {
    if (!options.isTakenOver && address.port !== 0) await assertFree(address, options.setting);
    const server = new SideServer(options);
    await server.#listen(address, options.setting);
    return server;
  }

  private constructor({ knowsHost }: SideServerOptions) {
    this.#knowsHost = knowsHost;
    const limits = { max: MAX_CONNECTIONS, maxPerSource: undefined };
    // Slow connections must not block the others.
    this.#connections = new ConnectionLimiter(limits, {
      isBusy: (socket) => this.#open.get(socket)?.req.complete === true,
      onClosed: () => {},
    });
    this.#server = new LlhttpServer(
      { headMs: REQUEST_MS, keepAliveMs: KEEP_ALIVE_MS, certificate: undefined },
      {
        onConnection: (socket) => this.#connections.add(socket),
        onSecured: () => {},
        onRequest: (request, response) => this.#onRequest(request, response),
        onConnect: (socket) => socket.destroy(),
        onClientError: (error, socket) => this.#onClientError(error, socket),
        onTimeout: (socket) => socket.destroy(),
      },
    );
    // The server does not keep the process alive.
    this.#server.acceptor.unref();
  }

  get address(): AddressInfo {
    return this.#server.acceptor.address() as AddressInfo;
  }

  /** Sets the pages, and answers the waiting requests. */
  serve(pages: Pages): void {
    this.#pages.resolve(pages);
  }

  /** Stops accepting during a takeover, and asks clients to close their open connections. */
  leave(): void {
    this.#isLeaving = true;
    this.#server.acceptor.close();
    setTimeout(() => this.close(), LEAVING_MS).unref();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #listen({ host, port }: ListenAddress, setting: string): Promise<void> {
    const { acceptor } = this.#server;
    return new Promise((resolve, reject) => {
      acceptor.once('error', (error) => reject(explainListenError(error, { host, port }, setting)));
      acceptor.listen({ host, port, exclusive: true, reusePort: CAN_SHARE }, resolve);
    });
  }

  #onRequest(request: HttpRequest, response: HttpResponse): void {
    const { socket } = request;
    // No page needs a body, and reading one would delay API clients.
    const isLast = this.#connections.isSurplus(socket) || this.#isLeaving || hasBody(request);
    if (isLast) response.shouldKeepAlive = false;
    this.#open.set(socket, response);
    response.on('close', () => {
      this.#open.delete(socket);
      this.#connections.markIdle(socket);
    });
    void this.#answer(request, response);
  }

  #onClientError(error: ParserError, socket: Socket): void {
    // An error response cannot precede or follow a pending response.
    if (error.code === 'ECONNRESET' || !socket.writable || this.#open.has(socket)) {
      socket.destroy();
      return;
    }
    this.#server.stop(socket);
    writeParserError(socket, error);
  }

  async #answer(request: HttpRequest, response: HttpResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (!this.#knowsHost(hostOf(request))) return send(response, plain(403, UNKNOWN_HOST));
    const pages = await this.#pages.promise;
    const page = pages.get(path);
    if (page === undefined)
      return send(response, plain(404, `There is nothing here but ${[...pages.keys()].join(' and ')}.`));
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return send(response, plain(405, 'Only GET and HEAD are allowed.'), ['Allow', 'GET, HEAD']);
    try {
      send(response, await page());
    } catch {
      // A thread has died, and the process is about to end.
      send(response, plain(500, 'The figures cannot be read.'));
    }
  }
}

const UNKNOWN_HOST = 'Unknown host name: use the IP address, or add the name to `metrics.hosts` in the config.';

/** Returns the host without its port, in lower case. */
function hostOf({ headers: { host = '' } }: HttpRequest): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
}

function plain(status: number, sentence: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${sentence}\n` };
}

function send(response: HttpResponse, { status, type, body }: Answer, more: readonly string[] = []): void {
  if (response.destroyed) return;
  // Limits the time for a client to read the response, so that it cannot hold the connection.
  response.socket?.setTimeout(REQUEST_MS);
  response.writeHead(status, [
    ...['Content-Type', type, 'Content-Length', String(Buffer.byteLength(body))],
    ...[SENT_HEADERS.requestId, newId('req', Date.now()), ...more],
  ]);
  response.end(body);
}
