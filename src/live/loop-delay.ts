/** How long a thread's event loop keeps others waiting. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Milliseconds, since anybody last looked. */
export interface LoopDelay {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** How often it is measured. */
const RESOLUTION_MS = 20;
const NANOS_PER_MS = 1e6;
/** After so long without a look it stops. */
const UNWATCHED_MS = 60_000;

export class LoopDelayMeter {
  /** It wakes the thread fifty times a second, so it runs only while somebody looks now and then. */
  #histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** What was measured since the last time, which begins anew. */
  take(): LoopDelay {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stop(), UNWATCHED_MS).unref();
    if (this.#histogram === undefined) {
      this.#histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      this.#histogram.enable();
      return { p50: 0, p99: 0, max: 0 };
    }
    // The histogram holds the length of each round, of which the resolution is meant to pass.
    const delay = (nanos: number) => Math.max(0, Math.round(nanos / NANOS_PER_MS) - RESOLUTION_MS);
    const { max } = this.#histogram;
    const taken = {
      p50: delay(this.#histogram.percentile(50)),
      p99: delay(this.#histogram.percentile(99)),
      max: delay(max),
    };
    this.#histogram.reset();
    return taken;
  }

  #stop(): void {
    this.#histogram?.disable();
    this.#histogram = undefined;
  }
}
