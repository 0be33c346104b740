/** The main thread's view of a worker in another thread. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import type { Worker, WorkerCalls, WorkerParts } from './worker.ts';

/** Start data of a worker thread. */
export interface WorkerStart extends Omit<WorkerParts, 'ledger' | 'log' | 'counter'> {
  /** Connection to the ledger thread. */
  readonly ledger: MessagePort;
}

/** Calls from the main thread to a worker thread. */
export interface ThreadCalls extends WorkerCalls {
  /** The first call. Rejects with a UserError if the worker cannot listen. */
  listen(): Promise<AddressInfo>;
}

/** Calls from a worker thread to the main thread. */
export interface MainCalls {
  /** Log lines, each with its line break. */
  log(lines: string): void;
}

export interface RemoteWorkerEvents {
  /** Log lines of the thread. */
  onLog(lines: string): void;
  /** The thread died of an internal error. The holds of its requests stay open in the state file. */
  onDeath(error: Error): void;
}

/** Starts a worker in a new thread. Throws a UserError if it cannot listen. */
export async function startRemoteWorker(start: WorkerStart, { onLog, onDeath }: RemoteWorkerEvents): Promise<Worker> {
  const thread = startThread('gateway/worker-thread', { workerData: start, transferList: [start.ledger] });
  const port = new Port<MainCalls, ThreadCalls>(thread, 'the thread of a worker').serve({ log: onLog });
  const close = async () => void (await thread.terminate());
  try {
    const address = await port.call('listen');
    thread.on('error', onDeath);
    return {
      address,
      inFlight: () => port.call('inFlight'),
      snapshot: (query) => port.call('snapshot', query),
      refusals: (query) => port.call('refusals', query),
      refusedMinutes: (keyId) => port.call('refusedMinutes', keyId),
      explain: (question) => port.call('explain', question),
      stopRequest: (id) => port.call('stopRequest', id),
      reload: (config) => port.call('reload', config),
      showCertificate: (certificate) => port.call('showCertificate', certificate),
      stop: (milliseconds) => port.call('stop', milliseconds),
      sockets: () => port.call('sockets'),
      leave: (quietMs) => port.call('leave', quietMs),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
