/** An address beside the one for clients: an HTTP server of its own, which answers the paths it is given and nothing else. */
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server, type Socket } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { newId } from '../core/ids.ts';
import { createServer } from '../core/node-http.ts';
import { assertFree, explainListenError } from './address.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { SENT_HEADERS } from './headers.ts';
import { Intake } from './intake.ts';

/** Prometheus, or a load balancer, keeps one. A proxy or a second one have more, but not many. */
const MAX_CONNECTIONS = 32;
/** For a last request on a connection that another process has not got, in milliseconds. */
const LEAVING_MS = 2_000;
/** For a request to arrive, in milliseconds. */
const REQUEST_MS = 5_000;

/**
 * Where two processes can listen on the same address: the next one does before the one that it takes
 * over from stops.
 */
const CAN_SHARE = process.platform === 'linux' || process.platform === 'freebsd';

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What is at the paths. */
type Pages = ReadonlyMap<string, () => Answer | Promise<Answer>>;

export interface SideServerOptions {
  /** The field of the config, for messages. */
  readonly setting: string;
  /** Another process listens on the address and will stop. Otherwise it must be free. */
  readonly isTakenOver: boolean;
  /** Whether somebody who knows the server by this `Host` may read it. */
  knowsHost(host: string): boolean;
}

export class SideServer {
  readonly #server: HttpServer;
  readonly #pages = Promise.withResolvers<Pages>();
  readonly #knowsHost: (host: string) => boolean;
  #isLeaving = false;
  readonly #intakes = new WeakMap<Socket, Intake>();

  /** Listens; whoever asks waits until there is something to serve. Rejects with a UserError. */
  static async listen(address: ListenAddress, options: SideServerOptions): Promise<SideServer> {
    if (!options.isTakenOver && address.port !== 0) await assertFree(address, options.setting);
    const server = new SideServer(options);
    await server.#listen(address, options.setting);
    return server;
  }

  private constructor({ knowsHost }: SideServerOptions) {
    this.#knowsHost = knowsHost;
    const limits = { max: MAX_CONNECTIONS, maxPerSource: undefined };
    // Slow connections must not keep the others out.
    const connections = new ConnectionLimiter(limits, {
      isBusy: (socket) => this.#intakes.get(socket)?.isAnswering === true,
      onClosed: () => {},
    });
    this.#server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS }, (request, response) => {
      const { socket } = request;
      const intake = this.#intakes.get(socket);
      if (intake?.begin(request) !== true) {
        socket.destroy();
        return;
      }
      if (connections.isSurplus(socket) || this.#isLeaving) response.shouldKeepAlive = false;
      response.once('close', () => {
        intake.answered();
        connections.markIdle(socket);
      });
      void this.#answer(request, response);
    });
    this.#server.on('connection', (socket) => {
      this.#intakes.set(socket, new Intake(socket));
      connections.add(socket);
    });
    // The gateway does not run for these pages.
    this.#server.unref();
  }

  get address(): AddressInfo {
    return this.#server.address() as AddressInfo;
  }

  /** From now on this is what is here. */
  serve(pages: Pages): void {
    this.#pages.resolve(pages);
  }

  /** Accepts nothing more, since another process does; whoever keeps a connection is asked to close it. */
  leave(): void {
    this.#isLeaving = true;
    Server.prototype.close.call(this.#server);
    setTimeout(() => this.close(), LEAVING_MS).unref();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #listen({ host, port }: ListenAddress, setting: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error) => reject(explainListenError(error, { host, port }, setting)));
      this.#server.listen({ host, port, exclusive: true, reusePort: CAN_SHARE }, resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (!this.#knowsHost(hostOf(request))) return send(response, plain(403, UNKNOWN_HOST));
    const pages = await this.#pages.promise;
    const page = pages.get(path);
    if (page === undefined)
      return send(response, plain(404, `There is nothing here but ${[...pages.keys()].join(' and ')}.`));
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      return send(response, plain(405, 'Only GET and HEAD are allowed.'));
    }
    try {
      send(response, await page());
    } catch {
      // A thread has died, and the process ends.
      send(response, plain(500, 'The figures cannot be read.'));
    }
  }
}

const UNKNOWN_HOST =
  'This address is not known by that name: ask for it by its IP address, or list the name in `metrics.hosts` of the config.';

/** Without its port, in lower case. */
function hostOf({ headers: { host = '' } }: IncomingMessage): string {
  return host
    .replace(/:\d*$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
}

function plain(status: number, sentence: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${sentence}\n` };
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body),
    [SENT_HEADERS.requestId]: newId('req', Date.now()),
  });
  response.end(body);
}
