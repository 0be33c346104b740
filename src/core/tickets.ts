/**
 * Calls to another thread: each call takes a numbered ticket, and its reply carries the same
 * number.
 */

/** The calls that wait for their replies. */
export class Tickets<Reply> {
  readonly #waiting = new Map<number, PromiseWithResolvers<Reply>>();
  #next = 1;

  /**
   * Takes a ticket for a call. `reply` settles when `resolve` or `reject` is called with the number
   * of the ticket.
   */
  take(): { readonly ticket: number; readonly reply: Promise<Reply> } {
    const ticket = this.#next++;
    const waiting = Promise.withResolvers<Reply>();
    this.#waiting.set(ticket, waiting);
    return { ticket, reply: waiting.promise };
  }

  /** Delivers a reply. Does nothing if no call waits for it. */
  resolve(ticket: number, reply: Reply): void {
    this.#remove(ticket)?.resolve(reply);
  }

  /** Fails a call. Does nothing if no call waits for it. */
  reject(ticket: number, error: Error): void {
    this.#remove(ticket)?.reject(error);
  }

  /** Fails every waiting call: no more replies will come. */
  rejectAll(error: Error): void {
    for (const ticket of [...this.#waiting.keys()]) this.reject(ticket, error);
  }

  #remove(ticket: number): PromiseWithResolvers<Reply> | undefined {
    const waiting = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    return waiting;
  }
}
