/** Detects when a listener is no longer in use after it has stopped accepting. */
import { PatientTimer } from '../core/patient-timer.ts';

/** Open requests and connections of a listener. */
export interface Openness {
  readonly open: number;
  readonly connections: number;
}

export class Quiet {
  /** Resolves when all connections are closed, or no request has been open for `quietMs`. */
  readonly begun: Promise<void>;
  readonly #quietMs: number;
  readonly #look: () => Openness;
  readonly #resolve: () => void;
  #timer: PatientTimer | undefined;

  constructor(quietMs: number, look: () => Openness) {
    this.#quietMs = quietMs;
    this.#look = look;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.begun = promise;
    this.#resolve = resolve;
  }

  /** Must be called when a request begins or ends, and when a connection ends. */
  check(): void {
    const { open, connections } = this.#look();
    if (open > 0) {
      this.#timer?.clear();
      this.#timer = undefined;
    } else if (connections === 0) {
      this.#timer?.clear();
      this.#resolve();
    } else {
      this.#timer ??= new PatientTimer(this.#resolve, this.#quietMs);
    }
  }
}
