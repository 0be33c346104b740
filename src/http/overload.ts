/** Whether a thread has more to do than it can: told by how late its event loop comes round, and by the memory of the process. */
import { MemoryMeter } from './memory.ts';

/** From where on new requests are refused; undefined where nothing is. */
export interface OverloadMarks {
  readonly loopDelayMs: number | undefined;
  /** Of the whole process. */
  readonly memoryBytes: number | undefined;
  /** How many threads share the process. */
  readonly threads: number;
}

export type Overload = 'loop_delay' | 'memory';

/** How often it is looked at. */
const BEAT_MS = 100;
/** After so many looks without a request it is looked at no more, so that a gateway at rest sleeps. */
const QUIET_BEATS = 50;

/** Judges one look after the other. */
export class OverloadJudge {
  #wasLate = false;

  /** `lateMs`: how much later the loop came round than it should have. */
  judge(marks: OverloadMarks, lateMs: number, memoryBytes: number): Overload | undefined {
    const isLate = marks.loopDelayMs !== undefined && lateMs > marks.loopDelayMs;
    // Once is no overload: a laptop may have slept, or one large body may have been parsed.
    const isOverloaded = isLate && this.#wasLate;
    this.#wasLate = isLate;
    if (isOverloaded) return 'loop_delay';
    return marks.memoryBytes !== undefined && memoryBytes > marks.memoryBytes ? 'memory' : undefined;
  }
}

export class OverloadMeter {
  /** What is wrong at the moment. */
  overload: Overload | undefined;
  marks: OverloadMarks;
  readonly #memory = new MemoryMeter();
  #judge = new OverloadJudge();
  #timer: NodeJS.Timeout | undefined;
  #dueAtMs = 0;
  #quietBeats = 0;

  constructor(marks: OverloadMarks) {
    this.marks = marks;
  }

  /** To be called with each request. */
  touch(): void {
    this.#quietBeats = 0;
    if (this.#timer !== undefined) return;
    this.#dueAtMs = performance.now() + BEAT_MS;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#judge = new OverloadJudge();
    this.overload = undefined;
  }

  #beat(): void {
    const nowMs = performance.now();
    const { memoryBytes: markBytes, threads } = this.marks;
    const memoryBytes = markBytes === undefined ? 0 : this.#memory.read(markBytes, threads, nowMs);
    this.overload = this.#judge.judge(this.marks, nowMs - this.#dueAtMs, memoryBytes);
    this.#dueAtMs = nowMs + BEAT_MS;
    if (++this.#quietBeats > QUIET_BEATS) this.stop();
  }
}
