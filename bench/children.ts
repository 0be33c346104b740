/** The processes that a benchmark has started: how each is asked over IPC, and that none outlives it. */
import type { ChildProcess } from 'node:child_process';
import { ASK_USAGE, ASK_USAGE_AT_REST, type LoadOrder, type UpstreamOrder, type Usage } from './messages.ts';

/** The module that answers in a process. */
export const PROBE = new URL('./probe.js', import.meta.url).href;
/** How long a process may take to end. */
const PATIENCE_MS = 15_000;

const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A process whose use of the machine can be told, however that is found out. */
export interface Measured {
  usage(): Promise<Usage>;
  /** The same without garbage, where there is any. */
  usageAtRest(): Promise<Usage>;
  stop(): Promise<void>;
}

/** Sees to it that the process ends with this one. */
export function endWithThisProcess(child: ChildProcess): void {
  running.add(child);
  child.once('exit', () => running.delete(child));
}

/** Asks a process to end, and waits until it has. */
export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const impatience = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  child.kill('SIGTERM');
  await ended;
  clearTimeout(impatience);
}

/** A process with the probe in it. It answers one message at a time. */
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
      const onExit = () => reject(new Error(`${this.#child.spawnargs.join(' ')} has ended`));
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

  usageAtRest(): Promise<Usage> {
    return this.ask(ASK_USAGE_AT_REST);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}
