/** How much memory counts against the mark: what the system gave, and beyond the mark only what is in use. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Where the figures come from. */
export interface MemorySource {
  /** Of the whole process, as the system counts it. */
  residentBytes(): number;
  /** Of this thread, with what is garbage but not collected yet. */
  usedBytes(): number;
  /** Collects the garbage of this thread. */
  collect(): void;
}

/** The least time between two collections: one of a large heap takes some tenths of a second. */
const COLLECTION_PAUSE_MS = 3_000;

export class MemoryMeter {
  readonly #source: MemorySource;
  #nextCollectionAtMs = 0;

  constructor(source: MemorySource = PROCESS_MEMORY) {
    this.#source = source;
  }

  /** `threads`: how many share the process; no thread sees what the others use, so each takes itself for an example. */
  read(markBytes: number, threads: number, nowMs: number): number {
    const residentBytes = this.#source.residentBytes();
    if (residentBytes <= markBytes) return residentBytes;
    // What was needed once is seldom given back to the system, but can be used again.
    const usedBytes = this.#source.usedBytes() * threads;
    if (usedBytes <= markBytes || nowMs < this.#nextCollectionAtMs) return usedBytes;
    this.#source.collect();
    this.#nextCollectionAtMs = nowMs + COLLECTION_PAUSE_MS;
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

/** The engine shows it only to contexts that begin while it is told to. */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return collect;
}
