/** Measures memory for overload detection: resident memory, or used memory once the resident memory exceeds the threshold. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The source of the measurements. */
export interface MemorySource {
  /** Resident memory of the whole process. */
  residentBytes(): number;
  /** Memory in use by this thread, including garbage that has not been collected yet. */
  usedBytes(): number;
  /** Runs a garbage collection in this thread. */
  collect(): void;
}

/** Minimum time between two forced collections. Collecting a large heap takes some tenths of a second. */
const COLLECTION_INTERVAL_MS = 3_000;

export class MemoryMeter {
  readonly #source: MemorySource;
  #nextCollectionAtMs = 0;

  constructor(source: MemorySource = PROCESS_MEMORY) {
    this.#source = source;
  }

  /**
   * Returns the bytes to compare with the threshold. `threads`: the number of threads in the process. A thread cannot measure the
   * memory of the others, so it assumes that each uses as much as itself.
   */
  read(thresholdBytes: number, threads: number, nowMs: number): number {
    const residentBytes = this.#source.residentBytes();
    if (residentBytes <= thresholdBytes) return residentBytes;
    // Freed memory is seldom returned to the system, but it can be reused.
    const usedBytes = this.#source.usedBytes() * threads;
    if (usedBytes <= thresholdBytes || nowMs < this.#nextCollectionAtMs) return usedBytes;
    this.#source.collect();
    this.#nextCollectionAtMs = nowMs + COLLECTION_INTERVAL_MS;
    return this.#source.usedBytes() * threads;
  }
}

let collector: (() => void) | undefined;

export const PROCESS_MEMORY: MemorySource = {
  residentBytes: process.memoryUsage.rss,
  usedBytes() {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  },
  collect() {
    collector ??= exposedCollector();
    collector();
  },
};

/** V8 exposes `gc` only to contexts that are created while the flag is set. */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return collect;
}
