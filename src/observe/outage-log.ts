/** What the log says of a state that cannot be used: when that begins, now and then what has changed, and when it ends. */
import type { Log } from './log.ts';

/** The shortest time between two lines on what has changed. An outage may look different with every attempt to end it. */
const CHANGE_MS = 5_000;

export class OutageLog {
  readonly #log: Log;
  readonly #place: string;
  /** Why the state cannot be used, and what of that was logged last; undefined while it can. */
  #fault: string | undefined;
  #logged: string | undefined;
  #pause: NodeJS.Timeout | undefined;

  /** `place`: which state it is. */
  constructor(log: Log, place: string) {
    this.#log = log;
    this.#place = place;
  }

  /** The state cannot be used, or for another reason than before. */
  fault(message: string): void {
    this.#fault = message;
    if (this.#pause === undefined) this.#write();
  }

  end(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#fault = undefined;
    this.#logged = undefined;
    this.#log.info(`${this.#place} can be written again`);
  }

  #write(): void {
    this.#pause = undefined;
    if (this.#fault === undefined || this.#fault === this.#logged) return;
    this.#log.error(this.#fault);
    this.#logged = this.#fault;
    this.#pause = setTimeout(() => this.#write(), CHANGE_MS).unref();
  }
}
