/** A worker in a thread of its own, as the main thread sees it. */
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';
import { Tickets } from '../core/tickets.ts';
import type { SnapshotQuery } from '../observe/monitor.ts';
import type { Worker, WorkerSnapshot } from './worker.ts';
import type { Answers, FromWorker, Question, ToWorker, WorkerStart } from './worker-protocol.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD_FILE = new URL(`./worker-thread${extname(import.meta.url)}`, import.meta.url);

export interface RemoteEvents {
  /** Lines of its log, to be written. */
  onLog(lines: string): void;
  /** The thread has ended by a fault of the program. What it carried stays open in the file. */
  onDeath(error: Error): void;
}

/** Starts a worker in a thread of its own. Throws a UserError when the address cannot be had. */
export function startRemoteWorker(start: WorkerStart, events: RemoteEvents): Promise<Worker> {
  const thread = new Thread(THREAD_FILE, { workerData: start, transferList: [start.ledger] });
  return new Promise((resolve, reject) => {
    thread.once('error', reject);
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'log') events.onLog(message.lines);
      else if (message.kind === 'failed') {
        void thread.terminate();
        reject(new UserError(message.lines));
      } else if (message.kind === 'listening') {
        thread.off('error', reject);
        resolve(new RemoteWorker(thread, message.address, events));
      }
    });
  });
}

class RemoteWorker implements Worker {
  readonly address: AddressInfo;
  readonly #thread: Thread;
  readonly #tickets = new Tickets<Answers[keyof Answers]>();

  constructor(thread: Thread, address: AddressInfo, events: RemoteEvents) {
    this.#thread = thread;
    this.address = address;
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'answer') this.#tickets.resolve(message.ticket, message.answer);
    });
    thread.on('error', (error: Error) => {
      this.#tickets.rejectAll(error);
      events.onDeath(error);
    });
  }

  inFlight(): Promise<number> {
    return this.#ask({ kind: 'in_flight' });
  }

  look(look: SnapshotQuery): Promise<WorkerSnapshot> {
    return this.#ask({ kind: 'look', look });
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#ask({ kind: 'stop_request', id });
  }

  async reload(config: Config): Promise<void> {
    await this.#ask({ kind: 'reload', config });
  }

  stop(milliseconds: number): Promise<number> {
    return this.#ask({ kind: 'stop', milliseconds });
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #ask<K extends Question['kind']>(question: Extract<Question, { kind: K }>): Promise<Answers[K]> {
    const { ticket, reply } = this.#tickets.take();
    this.#thread.postMessage({ ticket, question } satisfies ToWorker);
    // The thread answers each question with what belongs to its kind.
    return reply as Promise<Answers[K]>;
  }
}
