/** The HTTP server: takes connections, turns requests into exchanges, answers what is not HTTP, and drains. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { ListenAddress } from '../core/address.ts';
import { type ClientError, rateLimited } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../core/limits.ts';
import { createServer } from '../core/node-http.ts';
import { explainListenError } from './address.ts';
import { Crowd, SPARE_CONNECTIONS } from './crowd.ts';
import { Exchange } from './exchange.ts';
import { checkHead, errorForParser, MAX_HEADER_BYTES } from './malformed.ts';
import { type Overload, type OverloadMarks, OverloadMeter } from './overload.ts';
import { writeRaw } from './raw-answer.ts';
import { isListing, isUnderV1, pathOf, type Route, routeOf } from './routes.ts';

/** What can change while it listens: it holds for the requests and connections that come from then on. */
export interface ListenerSettings {
  /** For a client to send its headers, and between two pieces of its body, in milliseconds. */
  readonly requestMs: number;
  readonly maxBodyBytes: number;
  /** How long a client may leave a stream unread, in milliseconds. */
  readonly idleMs: number;
  readonly maxConnections: number;
  readonly overload: OverloadMarks;
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
  /** So many requests and connections were refused in the last seconds, for want of what is named. */
  onPressure(refused: number, cause: Pressure): void;
}

/** Why a request is refused before anybody looks at it. */
export type Pressure = 'connections' | Overload;

/** What a client expects with its header Expect. */
type Expectation = 'nothing' | 'continue' | 'unknown';

/** How often it is told how many were refused, in milliseconds. */
const PRESSURE_REPORT_MS = 2_000;
/** What the refused are told to wait, in seconds: nobody knows how long it lasts. */
const RETRY_AFTER_S = 1;

/** Longer than the 60 s for which common load balancers keep idle connections. */
const KEEP_ALIVE_MS = 75_000;
/** How often slow headers are looked for: the default of 30 s would let a time-out of 2 s fire after 30. */
const CHECKING_INTERVAL_MS = 500;

export class Listener {
  #options: ListenerOptions;
  readonly #events: ListenerEvents;
  readonly #server: Server;
  readonly #open = new Map<Socket, ServerResponse>();
  readonly #crowd: Crowd;
  readonly #overload: OverloadMeter;
  /** Those of the open ones that were refused for want of memory or time, and whose answer is on its way. */
  #refusing = 0;
  readonly #refused = new Map<Pressure, number>();
  /** What a connection last got an answer to before all of its body was here. */
  readonly #unread = new WeakMap<Socket, IncomingMessage>();
  #draining = false;
  #onIdle: () => void = () => {};

  constructor(options: ListenerOptions, events: ListenerEvents) {
    this.#options = options;
    this.#events = events;
    this.#crowd = new Crowd(options.maxConnections);
    this.#overload = new OverloadMeter(options.overload);
    this.#server = createServer({
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: options.requestMs,
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
    this.#server.maxConnections = options.maxConnections + SPARE_CONNECTIONS;
    this.#server.on('connection', (socket) => this.#crowd.add(socket));
    this.#server.on('drop', () => this.#countRefused('connections'));
    this.#server.on('request', (request, response) => this.#take(request, response, 'nothing'));
    this.#server.on('checkContinue', (request, response) => this.#take(request, response, 'continue'));
    this.#server.on('checkExpectation', (request, response) => this.#take(request, response, 'unknown'));
    this.#server.on('connect', (_, socket) => {
      writeRaw(
        socket as Socket,
        { code: 'invalid_request', status: 404, message: 'This is no proxy: CONNECT leads nowhere.', close: true },
        this.#options.figures.requests,
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
    this.#server.headersTimeout = settings.requestMs;
    this.#server.maxConnections = settings.maxConnections + SPARE_CONNECTIONS;
    this.#crowd.max = settings.maxConnections;
    this.#overload.marks = settings.overload;
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
    this.#overload.stop();
  }

  #take(request: IncomingMessage, response: ServerResponse, expectation: Expectation): void {
    const { socket } = request;
    // What stands behind a request that got the last answer on its connection must not be acted on: nobody knows whose it is.
    if (this.#open.get(socket)?.shouldKeepAlive === false || !socket.writable) return;
    const isSurplus = this.#crowd.isTooMany(socket);
    if (this.#draining || isSurplus) response.shouldKeepAlive = false;
    const exchange = this.#exchange(request, response, expectation === 'continue');
    const fault = checkHead(request) ?? (expectation === 'unknown' ? EXPECTATION_FAILED : undefined);
    if (fault !== undefined) return exchange.sendError(fault);
    const routing = routeOf(request.method ?? '', exchange.path);
    // Who only asks whether the gateway lives gets an answer all the same.
    const isProbe = routing.ok && (routing.route.kind === 'healthz' || routing.route.kind === 'readyz');
    const pressure = isProbe ? undefined : this.#pressure(isSurplus);
    if (pressure !== undefined) this.#refuse(exchange, response, pressure);
    else if (routing.ok) void this.#events.onExchange(routing.route, exchange);
    else void this.#events.onMisrouted(routing.error, exchange);
  }

  #pressure(isSurplus: boolean): Pressure | undefined {
    this.#overload.touch();
    if (isSurplus) return 'connections';
    const { overload } = this.#overload;
    // The mark may be less than the gateway needs at rest: what comes when nothing else is under way is served.
    const isAlone = this.#open.size - this.#refusing <= 1;
    return overload === 'memory' && isAlone ? undefined : overload;
  }

  /** Refuses a request before anything was asked of anybody for it. */
  #refuse(exchange: Exchange, response: ServerResponse, pressure: Pressure): void {
    this.#countRefused(pressure);
    this.#refusing++;
    response.once('close', () => this.#refusing--);
    exchange.sendError(rateLimited(PRESSURE_MESSAGES[pressure], RETRY_AFTER_S));
  }

  #countRefused(pressure: Pressure): void {
    const refused = this.#refused.get(pressure);
    this.#refused.set(pressure, (refused ?? 0) + 1);
    if (refused === undefined) setTimeout(() => this.#reportRefused(pressure), PRESSURE_REPORT_MS).unref();
  }

  #reportRefused(pressure: Pressure): void {
    this.#events.onPressure(this.#refused.get(pressure) ?? 0, pressure);
    this.#refused.delete(pressure);
  }

  #exchange(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Exchange {
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
    });
    this.#open.set(socket, response);
    response.once('close', () => {
      if (this.#open.get(socket) === response) this.#open.delete(socket);
      if (!request.complete) this.#unread.set(socket, request);
      if (response.shouldKeepAlive) this.#rest(request);
      this.#events.onClose(exchange);
      if (this.#draining && this.#open.size === 0) this.#onIdle();
    });
    return exchange;
  }

  /** Its connection can be spared once all of the request is here, unless the next one has come by then. */
  #rest(request: IncomingMessage): void {
    const { socket } = request;
    if (!request.complete) request.once('end', () => this.#rest(request));
    else if (!this.#open.has(socket)) this.#crowd.rest(socket);
  }

  #figuresOf(path: string): RateFigures {
    return isListing(path) ? this.#options.figures.listings : this.#options.figures.requests;
  }

  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const response = this.#open.get(socket);
    // An answer that is due, or has begun, cannot be preceded or followed by another on the same connection.
    const answerIsDue = response !== undefined && (response.headersSent || response.req.complete);
    // Who announced the last request and goes on talking still gets the answer to it; the parser reads nothing more.
    if (answerIsDue && error.code === 'HPE_CLOSED_CONNECTION') return;
    const isAnswered = this.#unread.get(socket)?.complete === false;
    if (error.code === 'ECONNRESET' || !socket.writable || answerIsDue || isAnswered) {
      socket.destroy(error);
      return;
    }
    writeRaw(socket, errorForParser(error), this.#options.figures.requests);
  }
}

const EXPECTATION_FAILED: ClientError = {
  code: 'invalid_request',
  status: 417,
  message: 'Expect: only 100-continue is understood.',
};

const PRESSURE_MESSAGES: Readonly<Record<Pressure, string>> = {
  connections: 'All connections that this gateway takes are in use.',
  loop_delay: 'The gateway has more to do than it can.',
  memory: 'The gateway is short of memory.',
};
