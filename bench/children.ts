/**
 * The child processes of a benchmark: calls to them over IPC, and a guarantee that none outlives
 * it.
 */
import type { ChildProcess } from 'node:child_process';
import { ASK_USAGE, ASK_USAGE_AFTER_GC, type LoadOrder, type UpstreamOrder, type Usage } from './messages.ts';

/** The module that answers these calls in a child process. */
export const PROBE = new URL('./probe.js', import.meta.url).href;
/** How long a process may take to exit, in milliseconds. */
const EXIT_TIMEOUT_MS = 15_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A process whose resource usage can be measured. */
export interface Measured {
  usage(): Promise<Usage>;
  /** The usage after a garbage collection, if the process has a collector. */
  usageAfterGc(): Promise<Usage>;
  stop(): Promise<void>;
}

/** Makes sure that the process ends with this one. */
export function endWithThisProcess(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

/** Stops a process, and waits until it has exited. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const deadline = setTimeout(() => child.kill('SIGKILL'), EXIT_TIMEOUT_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(deadline);
}

/** A process with the probe loaded. It answers one message at a time. */
export class Helper implements Measured {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
    endWithThisProcess(child);
  }

  ask<T>(message: LoadOrder | UpstreamOrder | string): Promise<T> {
    const answer = this.nextMessage<T>();
    this.#child.send(message);
    return answer;
  }

  nextMessage<T>(): Promise<T> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error(`${this.#child.spawnargs.join(' ')} has exited`));
      this.#child.once('exit', onExit);
      this.#child.once('message', (message) => {
        this.#child.off('exit', onExit);
        resolve(message as T);
      });
    });
  }

  usage(): Promise<Usage> {
    return this.ask(ASK_USAGE);
  }

  usageAfterGc(): Promise<Usage> {
    return this.ask(ASK_USAGE_AFTER_GC);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
