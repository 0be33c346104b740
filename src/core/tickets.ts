/** Calls to another thread: each call takes a ticket, and its reply comes back under that number. */

/** The calls of one thread that wait for their replies. */
export class Tickets<Reply> {
  readonly #waiting = new Map<number, PromiseWithResolvers<Reply>>();
  #next = 1;

  /** Takes a ticket for a call. The promise settles once `resolve` or `reject` is called with its number. */
  take(): { readonly ticket: number; readonly reply: Promise<Reply> } {
    const ticket = this.#next++;
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting.set(ticket, waiting);
    return { ticket, reply: waiting.promise };
  }

  /** Delivers a reply. A ticket that nobody holds any more is ignored. */
  resolve(ticket: number, reply: Reply): void {
    this.#remove(ticket)?.resolve(reply);
  }

  reject(ticket: number, error: Error): void {
    this.#remove(ticket)?.reject(error);
  }

  /** Rejects every waiting call: nobody is left to answer. */
  rejectAll(error: Error): void {
    for (const ticket of [...this.#waiting.keys()]) this.reject(ticket, error);
  }

  #remove(ticket: number): PromiseWithResolvers<Reply> | undefined {
    const waiting = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    return waiting;
  }
}
