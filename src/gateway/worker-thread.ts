/** The entry point of a worker's thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { connectLedger } from '../ledger/client.ts';
import { forwardedLog } from '../observe/log.ts';
import { fdOf } from '../takeover/pass-sockets.ts';
import { startWorker, type Worker } from './worker.ts';
import type { FromWorker, ToWorker, WorkerCall, WorkerReply, WorkerStart } from './worker-protocol.ts';

async function main(port: MessagePort, { ledger, ...start }: WorkerStart): Promise<void> {
  const send = (message: FromWorker) => port.postMessage(message);
  const { log, flush } = forwardedLog(start.config.logLevel, (lines) => send({ kind: 'log', lines }));
  let worker: Worker;
  try {
    worker = await startWorker({ ...start, ledger: connectLedger(ledger), log });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    send({ kind: 'failed', lines: error.lines });
    return;
  }
  port.on('message', async ({ ticket, call }: ToWorker) => {
    const reply = await perform(call, worker);
    // Whoever gets the reply can rely on the log being complete up to it.
    flush();
    send({ kind: 'reply', ticket, reply });
  });
  send({ kind: 'listening', address: worker.address });
}

async function perform(call: WorkerCall, worker: Worker): Promise<WorkerReply> {
  switch (call.kind) {
    case 'in_flight':
      return worker.inFlight();
    case 'snapshot':
      return worker.snapshot(call.query);
    case 'stop_request':
      return worker.stopRequest(call.id);
    case 'explain':
      return worker.explain(call.question);
    case 'reload':
      await worker.reload(call.config);
      return undefined;
    case 'show_certificate':
      await worker.showCertificate(call.certificate);
      return undefined;
    case 'sockets':
      return (await worker.sockets()).map((socket) => (typeof socket === 'number' ? socket : fdOf(socket)));
    case 'leave':
      await worker.leave(call.quietMs);
      return undefined;
    case 'stop':
      return worker.stop(call.milliseconds);
  }
}

if (parentPort !== null) void main(parentPort, workerData as WorkerStart);
