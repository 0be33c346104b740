/** The HTTP server that Node has, with an intake before each of its connections. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import { createServer, createTlsServer } from '../core/node-http.ts';
import { Intake } from './intake.ts';
import { linger } from './linger.ts';
import { MAX_HEADER_BYTES } from './malformed.ts';
import {
  CHECKING_INTERVAL_MS,
  type Expectation,
  type HttpServer,
  type ServerEvents,
  type ServerOptions,
} from './server.ts';
import { tlsOptionsFor } from './tls-options.ts';

interface Connection {
  readonly intake: Intake;
  /** The response to its last request, until that is closed. */
  open: ServerResponse | undefined;
}

export class NodeServer implements HttpServer {
  readonly acceptor: Server | TlsServer;
  readonly #events: ServerEvents;
  readonly #connections = new WeakMap<Socket, Connection>();

  constructor({ headMs, keepAliveMs, certificate }: ServerOptions, events: ServerEvents) {
    this.#events = events;
    const settings = {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: headMs,
      // Bodies have a timeout of their own, which does not end a long upload that makes progress.
      requestTimeout: 0,
      // With Node's default of 30 s, a timeout of 2 s could take 30.
      connectionsCheckingInterval: CHECKING_INTERVAL_MS,
      keepAliveTimeout: keepAliveMs,
      // Checked by checkHead, so that the error has the shape of all others.
      requireHostHeader: false,
      noDelay: true,
    };
    const server =
      certificate === undefined
        ? createServer(settings)
        : createTlsServer({ ...settings, ...tlsOptionsFor(certificate) });
    // Node drops headers over its limit, and so could hide a duplicate. maxHeaderSize bounds them.
    server.maxHeadersCount = 0;
    server.on('connection', (socket) => {
      events.onConnection(socket);
      if (certificate === undefined) this.#accept(socket);
    });
    server.on('secureConnection', (socket: Socket) => {
      events.onSecured(socket);
      this.#accept(socket);
    });
    server.on('request', (request, response) => this.#onRequest(request, response, 'nothing'));
    server.on('checkContinue', (request, response) => this.#onRequest(request, response, 'continue'));
    server.on('checkExpectation', (request, response) => this.#onRequest(request, response, 'unknown'));
    server.on('connect', (_, socket) => {
      this.stop(socket as Socket);
      events.onConnect(socket as Socket);
    });
    server.on('clientError', (error, socket) => events.onClientError(error, socket as Socket));
    server.on('timeout', (socket) => events.onTimeout(socket));
    this.acceptor = server;
  }

  setHeadTimeout(headMs: number): void {
    this.acceptor.headersTimeout = headMs;
  }

  stop(socket: Socket): void {
    this.#connections.get(socket)?.intake.stop();
  }

  close(): void {
    this.acceptor.close();
    this.acceptor.closeIdleConnections();
  }

  closeAllConnections(): void {
    this.acceptor.closeAllConnections();
  }

  #accept(socket: Socket): void {
    const connection: Connection = { intake: new Intake(socket), open: undefined };
    this.#connections.set(socket, connection);
    const destroySoon = socket.destroySoon.bind(socket);
    // Node calls it once a last response is out.
    socket.destroySoon = () => {
      const { isSending, declaredBytes } = connection.intake;
      connection.intake.stop();
      if (isSending) linger(socket, declaredBytes);
      else destroySoon();
    };
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, expectation: Expectation): void {
    const { socket } = request;
    const connection = this.#connections.get(socket) as Connection;
    // Anything after the last request of a connection must be ignored: it could be smuggled.
    if (connection.open?.shouldKeepAlive === false || !socket.writable) return;
    if (!connection.intake.begin(request)) {
      socket.destroy();
      return;
    }
    connection.open = response;
    response.once('close', () => {
      connection.open = undefined;
      connection.intake.answered();
    });
    this.#events.onRequest(request, response, expectation);
  }
}
