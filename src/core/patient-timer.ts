/**
 * A timer for what has to arrive. When it is due it looks once before it gives up: a process that stood still, or was
 * busy, sees its timers before what has arrived meanwhile.
 */
export class PatientTimer {
  readonly #timer: NodeJS.Timeout;
  #look: NodeJS.Immediate | undefined;

  constructor(onMissed: () => void, milliseconds: number) {
    // An immediate runs after the sockets were read.
    this.#timer = setTimeout(() => {
      this.#look = setImmediate(onMissed);
    }, milliseconds);
  }

  /** Restarts the time. */
  refresh(): void {
    clearImmediate(this.#look);
    this.#timer.refresh();
  }

  clear(): void {
    clearImmediate(this.#look);
    clearTimeout(this.#timer);
  }
}
