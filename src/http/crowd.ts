/** The connections of a listener: which of them are too many, and which can go to make room. */
import type { Socket } from 'node:net';

/** How many beyond the bound are still told why they are refused; the system closes others without a word. */
export const SPARE_CONNECTIONS = 64;
/** How long one of those may take to say what it wants, in milliseconds. */
const SPARE_MS = 2_000;

export class Crowd {
  max: number;
  /** Those within the bound. */
  readonly #members = new Set<Socket>();
  /** Members that have got all their answers and are kept open; the one that is at rest longest comes first. */
  readonly #resting = new Set<Socket>();
  /** Those for which there was no room when they came. */
  readonly #surplus = new Map<Socket, NodeJS.Timeout>();

  constructor(max: number) {
    this.max = max;
  }

  add(socket: Socket): void {
    socket.once('close', () => this.#remove(socket));
    if (this.#admit(socket)) return;
    this.#surplus.set(
      socket,
      setTimeout(() => socket.destroy(), SPARE_MS),
    );
  }

  /** To be called with each request: whether it came on a connection for which there still is no room. */
  isTooMany(socket: Socket): boolean {
    this.#resting.delete(socket);
    return this.#surplus.has(socket) && !this.#admit(socket);
  }

  /** To be called when a connection that stays open has got all its answers. */
  rest(socket: Socket): void {
    if (this.#members.has(socket)) this.#resting.add(socket);
  }

  #admit(socket: Socket): boolean {
    for (const resting of this.#resting) {
      if (this.#members.size < this.max) break;
      this.#remove(resting);
      resting.destroy();
    }
    if (this.#members.size >= this.max) return false;
    this.#remove(socket);
    this.#members.add(socket);
    return true;
  }

  #remove(socket: Socket): void {
    this.#members.delete(socket);
    this.#resting.delete(socket);
    clearTimeout(this.#surplus.get(socket));
    this.#surplus.delete(socket);
  }
}
