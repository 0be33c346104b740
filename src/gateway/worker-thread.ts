/** Entry point of a worker thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { connectLedger } from '../ledger/calls.ts';
import { forwardedLog } from '../observe/log.ts';
import type { MainCalls, ThreadCalls, WorkerStart } from './remote-worker.ts';
import { startWorker } from './worker.ts';

function main(parent: MessagePort, { ledger, ...start }: WorkerStart): void {
  const port = new Port<ThreadCalls, MainCalls>(parent, 'the main thread');
  const { log, flush } = forwardedLog(start.config.logLevel, (lines) => port.tell('log', lines));
  // Flushes the log before each reply, so that the log is complete up to the reply.
  const serve = (served: Partial<ThreadCalls>) => port.serve(served, flush);
  serve({
    listen: async () => {
      const worker = await startWorker({ ...start, ledger: connectLedger(ledger), log });
      serve(worker);
      return worker.address;
    },
  });
}

if (parentPort !== null) main(parentPort, workerData as WorkerStart);
