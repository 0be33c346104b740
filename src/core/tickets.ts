/** Pending calls to another thread: each call takes a numbered ticket, and its reply carries the same number. */

import { Roster } from './roster.ts';

/** Maximum number of pending calls. A ticket is a serial number times this, plus an index. */
const PLACES = 2 ** 20;

interface Waiting<Reply> {
  ticket: number;
  readonly resolvers: PromiseWithResolvers<Reply>;
}

/** The calls that wait for their replies. */
export class Tickets<Reply> {
  readonly #waiting = new Roster<Waiting<Reply>>();
  #serial = 0;

  /**
   * Takes a ticket for a call. `reply` settles when `resolve` or `reject` is called with the number
   * of the ticket.
   */
  take(): { readonly ticket: number; readonly reply: Promise<Reply> } {
    const waiting = { ticket: 0, resolvers: Promise.withResolvers<Reply>() };
    const place = this.#waiting.add(waiting);
    // Indexes are reused. The serial number distinguishes a late reply from the reply to the current call.
    waiting.ticket = ++this.#serial * PLACES + place;
    return { ticket: waiting.ticket, reply: waiting.resolvers.promise };
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
    for (const { ticket } of this.#waiting.members()) this.reject(ticket, error);
  }

  #remove(ticket: number): PromiseWithResolvers<Reply> | undefined {
    const place = ticket % PLACES;
    const waiting = this.#waiting.at(place);
    if (waiting?.ticket !== ticket) return undefined;
    this.#waiting.remove(place);
    return waiting.resolvers;
  }
}
