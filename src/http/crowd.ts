/** The connections of a listener: how many there are, and which of them are too many. */
import type { Socket } from 'node:net';

/** How many beyond the bound are still told why they are refused; the system closes others without a word. */
export const SPARE_CONNECTIONS = 64;
/** How long one of those may take to say what it wants, in milliseconds. */
const SPARE_MS = 2_000;

export class Crowd {
  max: number;
  #count = 0;
  /** Those that came when all were taken. */
  readonly #surplus = new Set<Socket>();

  constructor(max: number) {
    this.max = max;
  }

  add(socket: Socket): void {
    const isSurplus = ++this.#count > this.max;
    const timer = isSurplus ? setTimeout(() => socket.destroy(), SPARE_MS) : undefined;
    if (isSurplus) this.#surplus.add(socket);
    socket.once('close', () => {
      this.#count--;
      clearTimeout(timer);
      this.#surplus.delete(socket);
    });
  }

  isTooMany(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket);
  }
}
