/** Measures the delay of a thread's event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Delays over the last five to ten seconds, in milliseconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The interval of the measurement. Each one wakes the thread, which takes less than 0.1% of it. */
const RESOLUTION_MS = 20;
const NANOS_PER_MS = 1e6;
/** Figures are the worse of the last complete span and the current one. */
const SPAN_MS = 5_000;

export class LoopDelayMeter {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  #previous: LoopDelay = { p50: 0, p99: 0, max: 0 };

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      this.#previous = this.#measured();
      this.#histogram.reset();
    }, SPAN_MS).unref();
  }

  /** Reading does not reset the figures, so all readers see the same. */
  read(): LoopDelay {
    const now = this.#measured();
    const worse = (figure: keyof LoopDelay) => Math.max(now[figure], this.#previous[figure]);
    return { p50: worse('p50'), p99: worse('p99'), max: worse('max') };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #measured(): LoopDelay {
    // The histogram records the time between two measurements, which includes the resolution. An empty one has no maximum.
    const delay = (nanos: number) => Math.max(0, Math.round(nanos / NANOS_PER_MS) - RESOLUTION_MS);
    const { count, max } = this.#histogram;
    return {
      p50: delay(this.#histogram.percentile(50)),
      p99: delay(this.#histogram.percentile(99)),
      max: count === 0 ? 0 : delay(max),
    };
  }
}
