/**
 * The clock for requests at a fixed rate: a thread that wakes whenever one is due. Node's timers
 * have a resolution of a millisecond, so a request would be late by half of one on average before
 * it is sent.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

interface Schedule {
  readonly perSecond: number;
  readonly total: number;
}

/** Milliseconds on a clock that all threads share. */
export function sharedNowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Calls `onTick` whenever a request is due, and sometimes when none is. */
export class Pacer {
  readonly #worker: Worker;
  readonly #onTick: () => void;

  private constructor(worker: Worker, onTick: () => void) {
    this.#worker = worker;
    this.#onTick = onTick;
  }

  static async create(schedule: Schedule, onTick: () => void): Promise<Pacer> {
    const worker = new Worker(new URL(import.meta.url), { workerData: schedule });
    await new Promise((resolve) => worker.once('message', resolve));
    return new Pacer(worker, onTick);
  }

  /** The k-th request, from 1 on, is due k intervals after `startAtMs` on the shared clock. */
  start(startAtMs: number): void {
    this.#worker.on('message', this.#onTick);
    this.#worker.postMessage(startAtMs);
  }

  async stop(): Promise<void> {
    await this.#worker.terminate();
  }
}

function tick({ perSecond, total }: Schedule, startAtMs: number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let count = 1; count <= total; count++) {
    const dueAtMs = startAtMs + (count * 1000) / perSecond;
    for (let leftMs = dueAtMs - sharedNowMs(); leftMs > 0; leftMs = dueAtMs - sharedNowMs()) {
      Atomics.wait(sleeper, 0, 0, leftMs);
    }
    parentPort?.postMessage(count);
  }
}

if (!isMainThread) {
  parentPort?.once('message', (startAtMs: number) => tick(workerData, startAtMs));
  parentPort?.postMessage('ready');
}
