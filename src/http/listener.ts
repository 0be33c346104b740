/** The HTTP server: takes connections, turns requests into exchanges, answers what is not HTTP, and drains. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type ClientError, errorBody, statusOf } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../ledger/ledger.ts';
import { explainListenError, type ListenAddress } from './address.ts';
import { Exchange } from './exchange.ts';
import { rateHeaders } from './headers.ts';
import { MAX_HEADER_BYTES, malformedRequest, parserFault } from './malformed.ts';
import { isListing, isUnderV1, pathOf, type Route, routeOf } from './routes.ts';

/** What can change while it listens: it holds for the requests and connections that come from then on. */
export interface ListenerSettings {
  /** For a client to send its headers, and between two pieces of its body, in milliseconds. */
  readonly requestTimeoutMs: number;
  readonly maxBodyBytes: number;
  /** How long a client may leave a stream unread, in milliseconds. */
  readonly stallTimeoutMs: number;
  /** What the rate-limit headers show to senders without a valid key. */
  readonly figures: { readonly requests: RateFigures; readonly listings: RateFigures };
}

export interface ListenerOptions extends ListenAddress, ListenerSettings {
  /** Whether listeners of other threads take connections at the same port. */
  readonly isPortShared: boolean;
}

export interface ListenerEvents {
  /** Answers a request. Never throws. */
  onExchange(route: Route, exchange: Exchange): Promise<void>;
  /** Answers a request for which there is no route. Never throws. */
  onMisrouted(error: ClientError, exchange: Exchange): Promise<void>;
  /** An exchange is over, in whatever way. */
  onClose(exchange: Exchange): void;
}

/** Longer than the 60 s for which common load balancers keep idle connections. */
const KEEP_ALIVE_MS = 75_000;
/** How long a connection that got its last answer may stay half open, in milliseconds. */
const LINGER_MS = 2_000;
/** How often slow headers are looked for: the default of 30 s would let a time-out of 2 s fire after 30. */
const CHECKING_INTERVAL_MS = 500;

export class Listener {
  #options: ListenerOptions;
  readonly #events: ListenerEvents;
  readonly #server: Server;
  readonly #open = new Map<Socket, ServerResponse>();
  #draining = false;
  #onIdle: () => void = () => {};

  constructor(options: ListenerOptions, events: ListenerEvents) {
    this.#options = options;
    this.#events = events;
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: options.requestTimeoutMs,
      // Bodies have a time-out of their own, which a long upload that makes progress does not meet.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Checked here, so that the answer has the right shape.
      requireHostHeader: false,
      noDelay: true,
    });
    // Node leaves out what is beyond the bound, and with it a doubled header. The block's size is bounded above.
    this.#server.maxHeadersCount = 0;
    this.#server.on('request', (request, response) => this.#take(request, response, false));
    this.#server.on('checkContinue', (request, response) => this.#take(request, response, true));
    this.#server.on('checkExpectation', (request, response) => {
      const message = 'Expect: only 100-continue is understood.';
      this.#exchange(request, response, false).sendError({ code: 'invalid_request', status: 417, message });
    });
    this.#server.on('connect', (_, socket) => {
      writeRaw(
        socket as Socket,
        { code: 'invalid_request', status: 404, message: 'This is no proxy: CONNECT leads nowhere.', close: true },
        this.#options,
      );
    });
    this.#server.on('clientError', (error, socket) => this.#clientError(error, socket as Socket));
  }

  /** Starts to listen; resolves with the address. Throws a UserError. */
  listen(): Promise<AddressInfo> {
    const { host, port, isPortShared: reusePort } = this.#options;
    return new Promise((resolve, reject) => {
      this.#server.once('error', (error: NodeJS.ErrnoException) => reject(explainListenError(error, this.#options)));
      this.#server.listen({ host, port, reusePort }, () => resolve(this.#server.address() as AddressInfo));
    });
  }

  configure(settings: ListenerSettings): void {
    this.#options = { ...this.#options, ...settings };
    this.#server.headersTimeout = settings.requestTimeoutMs;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Requests under way. */
  get inFlight(): number {
    return this.#open.size;
  }

  /** Takes no more connections, closes idle ones, and resolves when the last request has ended. */
  drain(): Promise<void> {
    this.#draining = true;
    for (const response of this.#open.values()) response.shouldKeepAlive = false;
    this.#server.close();
    this.#server.closeIdleConnections();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#open.size === 0) resolve();
    });
  }

  /** Breaks all connections. */
  close(): void {
    this.#server.closeAllConnections();
  }

  #take(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    if (this.#draining) response.shouldKeepAlive = false;
    const exchange = this.#exchange(request, response, expectsContinue);
    const fault = malformedRequest(request);
    const routing = routeOf(request.method ?? '', exchange.path);
    if (fault !== undefined) exchange.sendError(fault);
    else if (!routing.ok) void this.#events.onMisrouted(routing.error, exchange);
    else void this.#events.onExchange(routing.route, exchange);
  }

  #exchange(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Exchange {
    const { socket } = request;
    const path = pathOf(request.url ?? '/');
    const exchange = new Exchange(request, response, {
      requestId: newId('req', Date.now()),
      path,
      figures: isUnderV1(path) ? this.#figuresOf(path) : undefined,
      maxBodyBytes: this.#options.maxBodyBytes,
      bodyTimeoutMs: this.#options.requestTimeoutMs,
      stallTimeoutMs: this.#options.stallTimeoutMs,
      expectsContinue,
    });
    this.#open.set(socket, response);
    response.once('close', () => {
      if (this.#open.get(socket) === response) this.#open.delete(socket);
      this.#events.onClose(exchange);
      if (this.#draining && this.#open.size === 0) this.#onIdle();
    });
    return exchange;
  }

  #figuresOf(path: string): RateFigures {
    return isListing(path) ? this.#options.figures.listings : this.#options.figures.requests;
  }

  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const response = this.#open.get(socket);
    // An answer that is due, or has begun, cannot be preceded or followed by another on the same connection.
    const answerIsDue = response !== undefined && (response.headersSent || response.req.complete);
    if (error.code === 'ECONNRESET' || !socket.writable || answerIsDue) {
      socket.destroy(error);
      return;
    }
    writeRaw(socket, parserFault(error), this.#options);
  }
}

/** Answers on a socket for which there is no request, and closes it. */
function writeRaw(socket: Socket, error: ClientError, options: ListenerOptions): void {
  const body = errorBody(error);
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    'X-Request-Id': newId('req', Date.now()),
    ...rateHeaders(options.figures.requests),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const status = statusOf(error);
  // After CONNECT nobody listens any more: a reset would be an uncaught exception and end the process.
  socket.on('error', () => {});
  // A client that keeps its half open would keep the socket for ever; breaking it at once could cost it the answer.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

const REASONS: Readonly<Record<number, string>> = {
  404: 'Not Found',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
