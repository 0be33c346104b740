/** Detects overload of a worker thread, by the delay of its event loop and the memory of the process. */
import { MemoryMeter } from './memory.ts';

/** Above these thresholds, new requests are rejected with 429. Undefined disables a check. */
export interface OverloadThresholds {
  readonly loopDelayMs: number | undefined;
  /** Memory of the whole process. */
  readonly memoryBytes: number | undefined;
  /** The number of threads in the process. */
  readonly threads: number;
}

export type Overload = 'loop_delay' | 'memory';

const SAMPLE_INTERVAL_MS = 100;
/** After this many samples without a request, sampling stops, so that an idle gateway sleeps. */
const IDLE_SAMPLES = 50;

/** Evaluates consecutive samples. */
export class OverloadDetector {
  #wasLate = false;

  /** `lateMs`: how much later than scheduled the event loop ran the sample. */
  sample(thresholds: OverloadThresholds, lateMs: number, memoryBytes: number): Overload | undefined {
    const isLate = thresholds.loopDelayMs !== undefined && lateMs > thresholds.loopDelayMs;
    // A single late sample is not overload: a laptop may have slept, or a large body was parsed.
    const isOverloaded = isLate && this.#wasLate;
    this.#wasLate = isLate;
    if (isOverloaded) return 'loop_delay';
    return thresholds.memoryBytes !== undefined && memoryBytes > thresholds.memoryBytes ? 'memory' : undefined;
  }
}

/** Samples its own thread while requests arrive. */
export class OverloadMonitor {
  /** The result of the last sample. */
  overload: Overload | undefined;
  thresholds: OverloadThresholds;
  readonly #memory = new MemoryMeter();
  #detector = new OverloadDetector();
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;
  #idleSamples = 0;

  constructor(thresholds: OverloadThresholds) {
    this.thresholds = thresholds;
  }

  /** Must be called for each request: starts or prolongs sampling. */
  onRequest(): void {
    this.#idleSamples = 0;
    if (this.#timer !== undefined) return;
    this.#dueAtMs = performance.now() + SAMPLE_INTERVAL_MS;
    this.#timer = setInterval(() => this.#sample(), SAMPLE_INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#detector = new OverloadDetector();
    this.overload = undefined;
  }

  #sample(): void {
    const nowMs = performance.now();
    const { memoryBytes: thresholdBytes, threads } = this.thresholds;
    const memoryBytes = thresholdBytes === undefined ? 0 : this.#memory.read(thresholdBytes, threads, nowMs);
    this.overload = this.#detector.sample(this.thresholds, nowMs - this.#dueAtMs, memoryBytes);
    this.#dueAtMs = nowMs + SAMPLE_INTERVAL_MS;
    if (++this.#idleSamples > IDLE_SAMPLES) this.stop();
  }
}
