/** Limits the connections of a listener: refuses connections over the limit, or closes others to make room. */
import type { Socket } from 'node:net';
import { isLoopback } from '../core/address.ts';

/** Maximum number of connections over the limit that still get an error response, or a response to a health check. */
export const SURPLUS_CONNECTIONS = 64;
/** Time limit for a surplus connection to send its request, in milliseconds. */
const SURPLUS_MS = 2_000;

export interface ConnectionLimits {
  readonly max: number;
  /** Maximum per source address, except this machine; undefined if unlimited. */
  readonly maxPerSource: number | undefined;
}

export interface ConnectionEvents {
  /** Whether a complete request without a finished response has arrived. */
  isBusy(socket: Socket): boolean;
  /** A connection without a complete request was closed. */
  onClosed(): void;
}

/**
 * To make room, connections are closed in this order: connections without a complete request, the oldest first; idle connections
 * without a valid key, then idle connections with one, the longest idle first.
 */
export class ConnectionLimiter {
  limits: ConnectionLimits;
  readonly #events: ConnectionEvents;
  /** Connections within the limit, with their source. */
  readonly #accepted = new Map<Socket, string | undefined>();
  /**
   * Accepted connections without a valid key, since they were opened or began their current request, including connections in a
   * TLS handshake.
   */
  readonly #silent = new Set<Socket>();
  /** Accepted keep-alive connections without a request in flight. */
  readonly #idle = new Set<Socket>();
  readonly #idleWithKey = new Set<Socket>();
  readonly #withKey = new WeakSet<Socket>();
  /** Connections opened over the limit, the oldest first. */
  readonly #surplus = new Map<Socket, NodeJS.Timeout>();
  /** The number of accepted connections per source. */
  readonly #sources = new Map<string, number>();

  constructor(limits: ConnectionLimits, events: ConnectionEvents) {
    this.limits = limits;
    this.#events = events;
  }

  /** The number of open connections. */
  get size(): number {
    return this.#accepted.size + this.#surplus.size;
  }

  add(socket: Socket): void {
    socket.once('close', () => this.#remove(socket));
    if (!this.#accept(socket)) this.#addSurplus(socket);
  }

  /** Must be called for each request. Returns whether its connection is still over the limit. */
  isSurplus(socket: Socket): boolean {
    this.#idle.delete(socket);
    this.#idleWithKey.delete(socket);
    if (this.#accepted.has(socket) && !this.#withKey.has(socket)) {
      // The request gets the same time as a new connection.
      this.#silent.delete(socket);
      this.#silent.add(socket);
    }
    return this.#surplus.has(socket) && !this.#accept(socket);
  }

  /** Must be called once a request of the connection had a valid key. */
  showKey(socket: Socket): void {
    this.#withKey.add(socket);
    this.#silent.delete(socket);
  }

  /** Must be called when a keep-alive connection has no request in flight: it may then be closed to make room. */
  markIdle(socket: Socket): void {
    if (!this.#accepted.has(socket)) return;
    this.#silent.delete(socket);
    (this.#withKey.has(socket) ? this.#idleWithKey : this.#idle).add(socket);
  }

  closeAll(): void {
    for (const socket of [...this.#accepted.keys(), ...this.#surplus.keys()]) this.#close(socket);
  }

  #accept(socket: Socket): boolean {
    const { max, maxPerSource = Number.POSITIVE_INFINITY } = this.limits;
    const source = sourceOf(socket);
    const own = source === undefined ? 0 : (this.#sources.get(source) ?? 0);
    if (own >= maxPerSource && !this.#makeRoom((other) => this.#accepted.get(other) === source)) return false;
    while (this.#accepted.size >= max) if (!this.#makeRoom(() => true)) return false;
    this.#remove(socket);
    this.#accepted.set(socket, source);
    this.#countSource(source, 1);
    this.#silent.add(socket);
    return true;
  }

  /** Closes the first matching connection. Returns false if all are in use. */
  #makeRoom(isOne: (socket: Socket) => boolean): boolean {
    for (const socket of this.#silent) {
      // A connection with a complete request is no longer silent. The set is only updated here, when room is needed.
      if (this.#events.isBusy(socket)) this.#silent.delete(socket);
      else if (isOne(socket)) {
        this.#events.onClosed();
        return this.#close(socket);
      }
    }
    for (const idle of [this.#idle, this.#idleWithKey]) {
      for (const socket of idle) if (isOne(socket)) return this.#close(socket);
    }
    return false;
  }

  #close(socket: Socket): true {
    this.#remove(socket);
    socket.destroy();
    return true;
  }

  #addSurplus(socket: Socket): void {
    this.#surplus.set(
      socket,
      setTimeout(() => socket.destroy(), SURPLUS_MS),
    );
    const [oldest] = this.#surplus.keys();
    if (this.#surplus.size <= SURPLUS_CONNECTIONS || oldest === undefined) return;
    this.#events.onClosed();
    this.#close(oldest);
  }

  #remove(socket: Socket): void {
    if (this.#accepted.has(socket)) this.#countSource(this.#accepted.get(socket), -1);
    this.#accepted.delete(socket);
    this.#silent.delete(socket);
    this.#idle.delete(socket);
    this.#idleWithKey.delete(socket);
    clearTimeout(this.#surplus.get(socket));
    this.#surplus.delete(socket);
  }

  #countSource(source: string | undefined, change: number): void {
    if (source === undefined) return;
    const count = (this.#sources.get(source) ?? 0) + change;
    if (count > 0) this.#sources.set(source, count);
    else this.#sources.delete(source);
  }
}

/**
 * Returns the address, or the first 64 bits of an IPv6 address, since a site usually controls a whole /64. Undefined for this
 * machine: a local app, or a proxy in front of the gateway.
 */
function sourceOf({ remoteAddress: address }: Socket): string | undefined {
  if (address === undefined || isLoopback(address)) return undefined;
  const [first = '', last = ''] = address.split('::');
  if (!address.includes(':') || address.includes('.')) return address;
  const [before, after] = [first, last].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
