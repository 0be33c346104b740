/** The HTTP server of all listeners: parses with llhttp on plain sockets. docs/decisions.md compares it with `node:http`. */
import { type Server as Acceptor, createServer, type Socket } from 'node:net';
import type { Server as TlsServer } from 'node:tls';
import { type ConnectionTimes, LlhttpConnection } from './llhttp-connection.ts';
import type { ServerEvents, ServerOptions } from './server.ts';
import { tlsOptionsFor } from './tls-options.ts';

/** Interval between two searches for slow heads and idle connections, in milliseconds. */
const CHECKING_INTERVAL_MS = 500;

export class LlhttpServer {
  /** The listening server. Additional acceptors emit their connections on it. */
  readonly acceptor: Acceptor;
  readonly #events: ServerEvents;
  readonly #times: { -readonly [Name in keyof ConnectionTimes]: ConnectionTimes[Name] };
  readonly #connections = new Map<Socket, LlhttpConnection>();
  #checks: NodeJS.Timeout | undefined;

  constructor({ headMs, keepAliveMs, certificate }: ServerOptions, events: ServerEvents) {
    this.#events = events;
    this.#times = { headMs, keepAliveMs };
    if (certificate === undefined) {
      this.acceptor = createServer({ noDelay: true, allowHalfOpen: true });
      this.acceptor.on('connection', (socket) => {
        events.onConnection(socket);
        this.#serve(socket);
      });
    } else {
      // Loaded on demand: most gateways do not use TLS.
      const { createServer: createTlsServer } = process.getBuiltinModule('node:tls');
      const server: TlsServer = createTlsServer({
        ...tlsOptionsFor(certificate),
        noDelay: true,
        ALPNProtocols: ['http/1.1'],
      });
      server.on('connection', (socket: Socket) => events.onConnection(socket));
      server.on('secureConnection', (socket) => {
        events.onSecured(socket);
        this.#serve(socket);
      });
      server.on('tlsClientError', (error, socket) => events.onClientError(error, socket));
      this.acceptor = server;
    }
  }

  /** Takes effect immediately, also for open connections. */
  setHeadTimeout(headMs: number): void {
    this.#times.headMs = headMs;
  }

  /** Stops parsing a connection. */
  stop(socket: Socket): void {
    this.#connections.get(socket)?.stop();
  }

  /** Stops accepting, and closes idle connections. */
  close(): void {
    this.acceptor.close();
    for (const [socket, connection] of this.#connections) if (connection.isIdle) socket.destroy();
  }

  closeAllConnections(): void {
    for (const socket of this.#connections.keys()) socket.destroy();
  }

  #serve(socket: Socket): void {
    this.#connections.set(socket, new LlhttpConnection(socket, this.#events, this.#times));
    this.#checks ??= setInterval(() => this.#check(), CHECKING_INTERVAL_MS).unref();
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (this.#connections.size > 0) return;
      clearInterval(this.#checks);
      this.#checks = undefined;
    });
  }

  #check(): void {
    const nowMs = performance.now();
    for (const connection of this.#connections.values()) connection.check(nowMs);
  }
}
