/** The HTTP server: accepts connections, routes requests, rejects malformed HTTP and overload, and drains. */

import type { AddressInfo, Socket, Server as SocketServer } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import type { ListenAddress } from '../core/address.ts';
import { type ClientError, rateLimited } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../core/limits.ts';
import { Repeats } from '../core/repeats.ts';
import { Roster } from '../core/roster.ts';
import type { CertificatePair } from '../core/settings.ts';
import { ConnectionLimiter, type ConnectionLimits } from './connection-limiter.ts';
import { type CorsPolicy, corsHeaders, preflightHeaders } from './cors.ts';
import { type ErrorFormat, Exchange } from './exchange.ts';
import { ListeningSockets } from './listening-sockets.ts';
import { LlhttpServer } from './llhttp-server.ts';
import { checkHead, errorForParser, targetIn } from './malformed.ts';
import { OverloadMonitor, type OverloadThresholds } from './overload.ts';
import { PRESSURE_MESSAGES, type Pressure } from './pressure.ts';
import { Quiet } from './quiet.ts';
import { writeRaw } from './raw-response.ts';
import { framingOf, isListing, isUnderV1, pathOf, type RequestHeaders, type Route, routeOf } from './routes.ts';
import type { Expectation, HttpRequest, HttpResponse, ParserError } from './server.ts';
import { tlsOptionsFor } from './tls-options.ts';

/** Settings that a reload can change; they apply to new requests and connections. */
export interface ListenerSettings {
  /** For a TLS handshake, for a client to send its headers, and between two chunks of its body, in milliseconds. */
  readonly requestMs: number;
  readonly maxBodyBytes: number;
  /** Maximum time that a client may leave its response unread, in milliseconds. */
  readonly idleMs: number;
  readonly connections: ConnectionLimits;
  readonly overload: OverloadThresholds;
  /** The values of the rate-limit headers for clients without a valid key. */
  readonly figures: { readonly requests: RateFigures; readonly listings: RateFigures };
  /** Undefined if cross-origin requests are disabled. */
  readonly cors: CorsPolicy | undefined;
}

export interface ListenerOptions extends ListenAddress, ListenerSettings {
  /** Whether listeners in other threads accept connections on the same port. */
  readonly isPortShared: boolean;
  /** Descriptors of listening sockets to use instead of the address. */
  readonly descriptors: readonly number[];
  /** Undefined for plain HTTP. */
  readonly certificate: CertificatePair | undefined;
  /** Returns the error format of a path. */
  formatFor(path: string, headers: RequestHeaders): ErrorFormat;
}

export interface ListenerEvents {
  /** Responds to a request. Never throws. */
  onExchange(route: Route, exchange: Exchange): Promise<void>;
  /** Responds to a request without a route. Never throws. */
  onMisrouted(error: ClientError, exchange: Exchange): Promise<void>;
  /** The exchange has ended, successfully or not. */
  onClose(exchange: Exchange): void;
  /** Reports how many requests and connections were rejected in the last seconds, and the cause. */
  onPressure(rejected: number, cause: Pressure): void;
}

interface ConnectionState {
  /** Number of requests received. */
  requests: number;
  /** The response to the last request, until it is closed. */
  open: HttpResponse | undefined;
  /** The exchange of that request. */
  exchange: Exchange | undefined;
  /** The last request that got its response before its complete body had arrived. */
  unread: HttpRequest | undefined;
  /** Closes the connection if its TLS handshake takes too long. */
  readonly handshake: NodeJS.Timeout | undefined;
}

/** Interval between reports of rejections, in milliseconds. */
const PRESSURE_REPORT_MS = 2_000;
/** `Retry-After` of a rejection, in seconds. The duration of the pressure is unknown. */
const RETRY_AFTER_S = 1;

/** Longer than the 60 s for which common load balancers keep idle connections. */
const KEEP_ALIVE_MS = 75_000;

export class Listener {
  #options: ListenerOptions;
  readonly #events: ListenerEvents;
  readonly #server: LlhttpServer;
  readonly #open = new Roster<HttpResponse>();
  readonly #states = new WeakMap<Socket, ConnectionState>();
  readonly #connections: ConnectionLimiter;
  readonly #overload: OverloadMonitor;
  /** The number of rejected requests whose response is unfinished. */
  #rejecting = 0;
  readonly #rejected = new Repeats<Pressure>(PRESSURE_REPORT_MS, (count, pressure) =>
    this.#events.onPressure(count, pressure),
  );
  #draining = false;
  #onIdle: () => void = () => {};
  readonly #sockets: ListeningSockets;
  /** Set once other processes accept the connections. */
  #leaving: Quiet | undefined;

  constructor(options: ListenerOptions, events: ListenerEvents) {
    this.#options = options;
    this.#events = events;
    this.#connections = new ConnectionLimiter(options.connections, {
      isBusy: (socket) => {
        const { open, exchange } = this.#stateOf(socket);
        return open !== undefined && (open.req.complete || exchange?.keyId !== undefined);
      },
      onClosed: () => this.#rejected.count('connections'),
    });
    this.#overload = new OverloadMonitor(options.overload);
    const { certificate } = options;
    this.#server = new LlhttpServer(
      { headMs: options.requestMs, keepAliveMs: KEEP_ALIVE_MS, certificate },
      {
        onConnection: (socket) => this.#onConnection(socket),
        onSecured: (socket) => clearTimeout(this.#stateOf(socket).handshake),
        onRequest: (request, response, expectation) => this.#onRequest(request, response, expectation),
        onConnect: (socket) => this.#onConnect(socket),
        onClientError: (error, socket) => this.#onClientError(error, socket),
        onTimeout: (socket) => this.#onTimeout(socket),
      },
    );
    this.#sockets = new ListeningSockets(this.#server.acceptor);
  }

  /** Starts listening; resolves with the address. Rejects with a UserError. */
  listen(): Promise<AddressInfo> {
    const { host, port, isPortShared: reusePort, descriptors } = this.#options;
    return this.#sockets.listen({ host, port, reusePort }, descriptors);
  }

  /** Uses this certificate for new connections. The listener must have been created with one. */
  showCertificate(certificate: CertificatePair): void {
    (this.#server.acceptor as TlsServer).setSecureContext(tlsOptionsFor(certificate));
  }

  /** The listening sockets. */
  get sockets(): readonly SocketServer[] {
    return this.#sockets.all;
  }

  configure(settings: ListenerSettings): void {
    this.#options = { ...this.#options, ...settings };
    this.#server.setHeadTimeout(settings.requestMs);
    this.#connections.limits = settings.connections;
    this.#overload.thresholds = settings.overload;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** The number of requests in flight. */
  get inFlight(): number {
    return this.#open.size;
  }

  /** Stops accepting connections, closes idle ones, and resolves when the last request has ended. */
  drain(): Promise<void> {
    this.#draining = true;
    for (const response of this.#open.members()) response.shouldKeepAlive = false;
    this.#server.close();
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      if (this.#open.size === 0) resolve();
    });
  }

  /**
   * Stops accepting connections while other processes accept on the same sockets. Serves the open connections and closes each
   * after its next response: closing an idle connection could race with a request in transit. Resolves when all connections are
   * closed, or when no request has been open for `quietMs`.
   */
  leave(quietMs: number): Promise<void> {
    this.#sockets.close();
    for (const response of this.#open.members()) if (!response.headersSent) response.shouldKeepAlive = false;
    this.#leaving = new Quiet(quietMs, () => ({ open: this.#open.size, connections: this.#connections.size }));
    this.#leaving.check();
    return this.#leaving.begun;
  }

  /** Closes all connections at once. */
  close(): void {
    this.#server.closeAllConnections();
    // The server does not track connections in a TLS handshake.
    this.#connections.closeAll();
    this.#overload.stop();
  }

  #onConnection(socket: Socket): void {
    const handshake = this.#options.certificate && this.#boundHandshake(socket);
    this.#states.set(socket, { requests: 0, open: undefined, exchange: undefined, unread: undefined, handshake });
    this.#connections.add(socket);
    socket.once('close', () => this.#leaving?.check());
  }

  /** Bounds the complete handshake. Node's timeout restarts with each packet. */
  #boundHandshake(socket: Socket): NodeJS.Timeout {
    const timer = setTimeout(() => socket.destroy(), this.#options.requestMs);
    socket.once('close', () => clearTimeout(timer));
    return timer;
  }

  #onConnect(socket: Socket): void {
    writeRaw(
      socket,
      { code: 'invalid_request', status: 404, message: 'CONNECT is not supported.', close: true },
      this.#options.figures.requests,
      this.#options.formatFor('/', {}),
    );
  }

  #onRequest(request: HttpRequest, response: HttpResponse, expectation: Expectation): void {
    const isSurplus = this.#connections.isSurplus(connectionOf(request.socket));
    if (this.#draining || this.#leaving !== undefined || isSurplus) response.shouldKeepAlive = false;
    const exchange = this.#exchange(request, response, expectation === 'continue');
    const error = checkHead(request, expectation !== 'unknown');
    if (error !== undefined) return exchange.sendError(error);
    const isV1 = isUnderV1(exchange.path);
    // Before any rejection, since a browser would hide the error from the page.
    const preflight = isV1 ? preflightHeaders(this.#options.cors, request.method, request.headers) : undefined;
    if (preflight !== undefined) return exchange.sendPreflight(preflight);
    const routing = routeOf(request.method ?? '', exchange.path, request.headers.upgrade);
    // Health checks are served under any pressure.
    const isProbe = routing.ok && (routing.route.kind === 'healthz' || routing.route.kind === 'readyz');
    const pressure = isProbe ? undefined : this.#pressure(isSurplus);
    if (pressure !== undefined) this.#reject(exchange, response, pressure);
    else if (routing.ok) void this.#events.onExchange(routing.route, exchange);
    else void this.#events.onMisrouted(routing.error, exchange);
  }

  #pressure(isSurplus: boolean): Pressure | undefined {
    this.#overload.onRequest();
    if (isSurplus) return 'connections';
    const { overload } = this.#overload;
    // The threshold may be below the memory of an idle gateway, so a lone request is always served.
    const isAlone = this.#open.size - this.#rejecting <= 1;
    return overload === 'memory' && isAlone ? undefined : overload;
  }

  /** Rejects a request before any work is done for it. */
  #reject(exchange: Exchange, response: HttpResponse, pressure: Pressure): void {
    this.#rejected.count(pressure);
    this.#rejecting++;
    response.on('close', () => this.#rejecting--);
    exchange.sendError(rateLimited(PRESSURE_MESSAGES[pressure], RETRY_AFTER_S));
  }

  #exchange(request: HttpRequest, response: HttpResponse, expectsContinue: boolean): Exchange {
    const { socket } = request;
    const path = pathOf(request.url ?? '/');
    const exchange = new Exchange(request, response, {
      requestId: newId('req', Date.now()),
      path,
      figures: isUnderV1(path) ? this.#figuresOf(path) : undefined,
      maxBodyBytes: this.#options.maxBodyBytes,
      requestMs: this.#options.requestMs,
      idleMs: this.#options.idleMs,
      expectsContinue,
      format: this.#options.formatFor(path, request.headers),
      framing: framingOf(request.url ?? '/'),
      cors: this.#corsOf(path, request),
    });
    const state = this.#stateOf(socket);
    state.requests++;
    state.open = response;
    state.exchange = exchange;
    const place = this.#open.add(response);
    this.#leaving?.check();
    response.on('close', () => {
      this.#open.remove(place);
      if (state.open === response) {
        state.open = undefined;
        state.exchange = undefined;
      }
      if (!request.complete) state.unread = request;
      if (exchange.keyId !== undefined) this.#connections.showKey(connectionOf(socket));
      if (response.shouldKeepAlive) this.#markIdle(request);
      this.#events.onClose(exchange);
      this.#leaving?.check();
      if (this.#draining && this.#open.size === 0) this.#onIdle();
    });
    return exchange;
  }

  /** Marks the connection idle once the complete request has arrived, unless the next request is already open. */
  #markIdle(request: HttpRequest): void {
    const { socket } = request;
    if (!request.complete) request.once('end', () => this.#markIdle(request));
    else if (this.#stateOf(socket).open === undefined) this.#connections.markIdle(connectionOf(socket));
  }

  #stateOf(socket: Socket): ConnectionState {
    return this.#states.get(connectionOf(socket)) as ConnectionState;
  }

  #corsOf(path: string, request: HttpRequest | undefined): readonly string[] {
    return isUnderV1(path) ? corsHeaders(this.#options.cors, request?.headers.origin) : [];
  }

  #figuresOf(path: string): RateFigures {
    return isListing(path) ? this.#options.figures.listings : this.#options.figures.requests;
  }

  /**
   * Closes a connection that was idle, or whose response stayed unread, for too long, unless input or a new request arrives
   * before the next immediate.
   */
  #onTimeout(socket: Socket): void {
    const { bytesRead } = socket;
    const state = this.#stateOf(socket);
    const { open } = state;
    setImmediate(() => {
      if (socket.bytesRead === bytesRead && state.open === open) socket.destroy();
    });
  }

  #onClientError(error: ParserError, socket: Socket): void {
    if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return this.#refuse(error, socket);
    const state = this.#stateOf(socket);
    const { requests } = state;
    // The headers may have arrived while the process was suspended. They are read before an immediate runs.
    setImmediate(() => {
      if (state.requests === requests) this.#refuse(error, socket);
    });
  }

  #refuse(error: ParserError, socket: Socket): void {
    const { open: response, unread } = this.#stateOf(socket);
    this.#server.stop(socket);
    // An error response cannot precede or follow a response that is pending or has begun.
    const isPending = response !== undefined && (response.headersSent || response.req.complete);
    // A client that sends data after its last request still gets the response to that request. The parser reads no further input.
    if (isPending && error.code === 'HPE_CLOSED_CONNECTION') return;
    const isAnswered = unread?.complete === false;
    if (error.code === 'ECONNRESET' || !socket.writable || isPending || isAnswered) {
      socket.destroy(error);
      return;
    }
    const path = pathOf(response?.req.url ?? targetIn(error.rawPacket) ?? '/');
    const { figures, formatFor } = this.#options;
    const cors = this.#corsOf(path, response?.req);
    writeRaw(socket, errorForParser(error), figures.requests, formatFor(path, {}), cors);
  }
}

/** Returns the accepted socket. Under TLS, the request's socket wraps it; the field is Node's `_parent`, private in name only. */
function connectionOf(socket: Socket): Socket {
  return (socket as Socket & { readonly _parent: Socket | null })._parent ?? socket;
}
