/** A worker in a thread of its own, as the main thread sees it. */
import type { AddressInfo } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { startThread } from '../core/threads.ts';
import type { Worker, WorkerCalls, WorkerParts } from './worker.ts';

/** What a worker's thread is started with. */
export interface WorkerStart extends Omit<WorkerParts, 'ledger' | 'log' | 'counter'> {
  /** Its connection to the ledger thread. */
  readonly ledger: MessagePort;
}

/** What the main thread asks of the thread of a worker. */
export interface ThreadCalls extends WorkerCalls {
  /** The first call. Rejects with a UserError if it cannot listen on the address. */
  listen(): Promise<AddressInfo>;
}

/** What the thread tells the main thread. */
export interface MainCalls {
  /** Lines for the log of the process, each with its line break. */
  log(lines: string): void;
}

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
