/** A worker in a thread of its own, as the main thread sees it. */
import type { AddressInfo } from 'node:net';
import type { Worker as Thread } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';
import type { ExplainQuestion, Explanation } from '../core/explanation.ts';
import type { CertificatePair } from '../core/settings.ts';
import { startThread } from '../core/threads.ts';
import { Tickets } from '../core/tickets.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import type { Worker } from './worker.ts';
import type { FromWorker, ToWorker, WorkerCall, WorkerReplies, WorkerReply, WorkerStart } from './worker-protocol.ts';

export interface RemoteWorkerEvents {
  /** Lines for the log of the process. */
  onLog(lines: string): void;
  /**
   * The thread died of an internal error. The holds of its requests stay open in the state file.
   */
  onDeath(error: Error): void;
}

/**
 * Starts a worker in a thread of its own. Throws a UserError if it cannot listen on the address.
 */
export function startRemoteWorker(start: WorkerStart, events: RemoteWorkerEvents): Promise<Worker> {
  const thread = startThread('gateway/worker-thread', { workerData: start, transferList: [start.ledger] });
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
  readonly #tickets = new Tickets<WorkerReply>();

  constructor(thread: Thread, address: AddressInfo, events: RemoteWorkerEvents) {
    this.#thread = thread;
    this.address = address;
    thread.on('message', (message: FromWorker) => {
      if (message.kind === 'reply') this.#tickets.resolve(message.ticket, message.reply);
    });
    thread.on('error', (error: Error) => {
      this.#tickets.rejectAll(error);
      events.onDeath(error);
    });
  }

  inFlight(): Promise<number> {
    return this.#call({ kind: 'in_flight' });
  }

  snapshot(query: WorkerQuery): Promise<WorkerSnapshot> {
    return this.#call({ kind: 'snapshot', query });
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#call({ kind: 'stop_request', id });
  }

  explain(question: ExplainQuestion): Promise<Explanation> {
    return this.#call({ kind: 'explain', question });
  }

  async reload(config: Config): Promise<void> {
    await this.#call({ kind: 'reload', config });
  }

  async showCertificate(certificate: CertificatePair): Promise<void> {
    await this.#call({ kind: 'show_certificate', certificate });
  }

  stop(milliseconds: number): Promise<number> {
    return this.#call({ kind: 'stop', milliseconds });
  }

  sockets(): Promise<readonly number[]> {
    return this.#call({ kind: 'sockets' });
  }

  async leave(quietMs: number): Promise<void> {
    await this.#call({ kind: 'leave', quietMs });
  }

  async close(): Promise<void> {
    await this.#thread.terminate();
  }

  #call<K extends WorkerCall['kind']>(call: Extract<WorkerCall, { kind: K }>): Promise<WorkerReplies[K]> {
    const { ticket, reply } = this.#tickets.take();
    this.#thread.postMessage({ ticket, call } satisfies ToWorker);
    // The thread's replies have the type that belongs to the kind of the call.
    return reply as Promise<WorkerReplies[K]>;
  }
}
