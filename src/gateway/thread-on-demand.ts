/**
 * A thread that starts with the first call, and restarts with the first call after its death. It does not keep the process alive.
 */
import type { Worker } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';

interface Running<Calls extends object> {
  readonly thread: Worker;
  readonly port: Port<object, Calls>;
}

export class ThreadOnDemand<Calls extends object> {
  readonly #module: Parameters<typeof startThread>[0];
  readonly #title: string;
  readonly #workerData: unknown;
  #running: Running<Calls> | undefined;

  /** `title`: the thread's name in errors. */
  constructor(module: Parameters<typeof startThread>[0], title: string, workerData: unknown) {
    this.#module = module;
    this.#title = title;
    this.#workerData = workerData;
  }

  get port(): Port<object, Calls> {
    this.#running ??= this.#start();
    return this.#running.port;
  }

  /** Makes the process wait for the thread. */
  ref(): void {
    this.#running?.thread.ref();
  }

  async close(): Promise<void> {
    await this.#running?.thread.terminate();
  }

  #start(): Running<Calls> {
    const thread = startThread(this.#module, { workerData: this.#workerData });
    const port = new Port<object, Calls>(thread, this.#title).serve({});
    thread.on('exit', () => {
      if (this.#running?.thread === thread) this.#running = undefined;
    });
    // Must be last: adding a message listener refs the thread again.
    thread.unref();
    return { thread, port };
  }
}
