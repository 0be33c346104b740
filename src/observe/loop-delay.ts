/** How long a thread's event loop keeps others waiting. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Milliseconds, of the last seconds. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** How often it is measured: it wakes the thread so often, which takes less than a thousandth of it. */
const RESOLUTION_MS = 20;
const NANOS_PER_MS = 1e6;
/** What is told is the worse of the last whole span and of the one that is passing. */
const SPAN_MS = 5_000;

export class LoopDelayMeter {
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  #before: LoopDelay = { p50: 0, p99: 0, max: 0 };

  constructor() {
    this.#histogram.enable();
    this.#timer = setInterval(() => {
      this.#before = this.#measured();
      this.#histogram.reset();
    }, SPAN_MS).unref();
  }

  /** The same for whoever looks, however often. */
  read(): LoopDelay {
    const now = this.#measured();
    const worse = (figure: keyof LoopDelay) => Math.max(now[figure], this.#before[figure]);
    return { p50: worse('p50'), p99: worse('p99'), max: worse('max') };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  #measured(): LoopDelay {
    // The histogram holds the length of each round, of which the resolution is meant to pass. An empty one has no largest.
    const delay = (nanos: number) => Math.max(0, Math.round(nanos / NANOS_PER_MS) - RESOLUTION_MS);
    const { count, max } = this.#histogram;
    return {
      p50: delay(this.#histogram.percentile(50)),
      p99: delay(this.#histogram.percentile(99)),
      max: count === 0 ? 0 : delay(max),
    };
  }
}
