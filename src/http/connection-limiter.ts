/** Limits a listener's connections: decides which are over the limit, and which are closed to make room. */
import type { Socket } from 'node:net';
import { isLoopback } from '../core/address.ts';

/** How many connections over the limit still get an error response, or an answer to a health check. */
export const SURPLUS_CONNECTIONS = 64;
/** How long a surplus connection has to send its request, in milliseconds. */
const SURPLUS_MS = 2_000;

export interface ConnectionLimits {
  readonly max: number;
  /** From one address, but for those of this machine; undefined for as many as there are. */
  readonly maxPerSource: number | undefined;
}

export interface ConnectionEvents {
  /** Whether a whole request has arrived that is not answered yet. */
  isBusy(socket: Socket): boolean;
  /** A connection was closed that had not sent a whole request. */
  onClosed(): void;
}

/**
 * Where room is short, connections are closed in this order: those without a whole request, the oldest first; idle ones
 * that have shown no key, and then those that have, the longest idle first.
 */
export class ConnectionLimiter {
  limits: ConnectionLimits;
  readonly #events: ConnectionEvents;
  /** Connections within the limit, and where they come from. */
  readonly #accepted = new Map<Socket, string | undefined>();
  /** Accepted, and without a valid key so far: no whole request has arrived since they were opened or began one. Those in a TLS handshake are among them. */
  readonly #silent = new Set<Socket>();
  /** Accepted keep-alive connections without a request in flight. */
  readonly #idle = new Set<Socket>();
  readonly #idleWithKey = new Set<Socket>();
  readonly #withKey = new WeakSet<Socket>();
  /** Connections over the limit when they were opened, the oldest first. */
  readonly #surplus = new Map<Socket, NodeJS.Timeout>();
  /** How many are accepted from a source. */
  readonly #sources = new Map<string, number>();

  constructor(limits: ConnectionLimits, events: ConnectionEvents) {
    this.limits = limits;
    this.#events = events;
  }

  /** How many are open. */
  get size(): number {
    return this.#accepted.size + this.#surplus.size;
  }

  add(socket: Socket): void {
    socket.once('close', () => this.#remove(socket));
    if (!this.#accept(socket)) this.#addSurplus(socket);
  }

  /** Call for each request. Returns whether its connection is over the limit, even now. */
  isSurplus(socket: Socket): boolean {
    this.#idle.delete(socket);
    this.#idleWithKey.delete(socket);
    if (this.#accepted.has(socket) && !this.#withKey.has(socket)) {
      // From here on it has as long as a new connection.
      this.#silent.delete(socket);
      this.#silent.add(socket);
    }
    return this.#surplus.has(socket) && !this.#accept(socket);
  }

  /** Call once a request of the connection had a valid key. */
  showKey(socket: Socket): void {
    this.#withKey.add(socket);
    this.#silent.delete(socket);
  }

  /** Call when a keep-alive connection has no request in flight: it may be closed to make room. */
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

  /** Closes one of these connections. False if each of them is in use. */
  #makeRoom(isOne: (socket: Socket) => boolean): boolean {
    for (const socket of this.#silent) {
      // A whole request is no longer silent, and was not noticed before since nobody had to know.
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
 * An address, or of one by IPv6 its first 64 bits, which whoever has one of them has all of. Undefined for this machine:
 * the app beside the gateway, or a proxy in front of it.
 */
function sourceOf({ remoteAddress: address }: Socket): string | undefined {
  if (address === undefined || isLoopback(address)) return undefined;
  const [first = '', last = ''] = address.split('::');
  if (!address.includes(':') || address.includes('.')) return address;
  const [before, after] = [first, last].map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
