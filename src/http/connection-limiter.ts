/**
 * Limits a listener's connections: decides which are over the limit and which idle ones to close.
 */
import type { Socket } from 'node:net';

/**
 * How many connections over the limit still get an error response. The system closes any beyond
 * these without one.
 */
export const SURPLUS_CONNECTIONS = 64;
/** How long a surplus connection has to send its request, in milliseconds. */
const SURPLUS_MS = 2_000;

export class ConnectionLimiter {
  max: number;
  /** Connections within the limit. */
  readonly #accepted = new Set<Socket>();
  /** Accepted keep-alive connections without a request in flight; the longest idle comes first. */
  readonly #idle = new Set<Socket>();
  /** Connections over the limit when they were opened. */
  readonly #surplus = new Map<Socket, NodeJS.Timeout>();

  constructor(max: number) {
    this.max = max;
  }

  /** How many are open. */
  get size(): number {
    return this.#accepted.size + this.#surplus.size;
  }

  add(socket: Socket): void {
    socket.once('close', () => this.#remove(socket));
    if (this.#accept(socket)) return;
    this.#surplus.set(
      socket,
      setTimeout(() => socket.destroy(), SURPLUS_MS),
    );
  }

  /** Call for each request. Returns whether its connection is over the limit, even now. */
  isSurplus(socket: Socket): boolean {
    this.#idle.delete(socket);
    return this.#surplus.has(socket) && !this.#accept(socket);
  }

  /** Call when a keep-alive connection has no request in flight: it may be closed to make room. */
  markIdle(socket: Socket): void {
    if (this.#accepted.has(socket)) this.#idle.add(socket);
  }

  #accept(socket: Socket): boolean {
    for (const idle of this.#idle) {
      if (this.#accepted.size < this.max) break;
      this.#remove(idle);
      idle.destroy();
    }
    if (this.#accepted.size >= this.max) return false;
    this.#remove(socket);
    this.#accepted.add(socket);
    return true;
  }

  #remove(socket: Socket): void {
    this.#accepted.delete(socket);
    this.#idle.delete(socket);
    clearTimeout(this.#surplus.get(socket));
    this.#surplus.delete(socket);
  }
}
