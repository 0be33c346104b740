/** Logs an outage of the state: its start, changes of its cause at intervals, and its end. */
import type { Log } from './log.ts';

/** The shortest time between two lines about changes. The cause may differ with every attempt to reconnect. */
const CHANGE_MS = 5_000;

export class OutageLog {
  readonly #log: Log;
  readonly #place: string;
  /** The present cause, and the cause that was logged last; undefined without an outage. */
  #fault: string | undefined;
  #logged: string | undefined;
  #pause: NodeJS.Timeout | undefined;

  /** `place`: the location of the state. */
  constructor(log: Log, place: string) {
    this.#log = log;
    this.#place = place;
  }

  /** Reports the start of an outage, or a change of its cause. */
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
