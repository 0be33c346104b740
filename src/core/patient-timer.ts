/**
 * A timer for expected data that polls the sockets once more before it reports a timeout. A suspended or busy process runs its
 * expired timers before it reads the data that arrived in the meantime.
 */
export class PatientTimer {
  readonly #timer: NodeJS.Timeout;
  #look: NodeJS.Immediate | undefined;

  constructor(onMissed: () => void, milliseconds: number) {
    // An immediate runs after the event loop has polled the sockets.
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
