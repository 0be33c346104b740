/** A worker's own thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { connectLedger } from '../ledger/client.ts';
import { forwardedLog } from '../observe/log.ts';
import { startWorker, type Worker } from './worker.ts';
import type { Answers, FromWorker, Question, ToWorker, WorkerStart } from './worker-protocol.ts';

async function main(port: MessagePort, { config, ledger, counting }: WorkerStart): Promise<void> {
  const send = (message: FromWorker) => port.postMessage(message);
  const { log, flush } = forwardedLog(config.logLevel, (lines) => send({ kind: 'log', lines }));
  let worker: Worker;
  try {
    worker = await startWorker({ config, ledger: connectLedger(ledger), log, counting });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    send({ kind: 'failed', lines: error.lines });
    return;
  }
  port.on('message', async ({ ticket, question }: ToWorker) => {
    const answer = await answerTo(question, worker);
    flush();
    send({ kind: 'answer', ticket, answer });
  });
  send({ kind: 'listening', address: worker.address });
}

async function answerTo(question: Question, worker: Worker): Promise<Answers[keyof Answers]> {
  switch (question.kind) {
    case 'in_flight':
      return worker.inFlight();
    case 'look':
      return worker.look(question.look);
    case 'stop_request':
      return worker.stopRequest(question.id);
    case 'reload':
      await worker.reload(question.config);
      return undefined;
    case 'stop':
      return worker.stop(question.milliseconds);
  }
}

if (parentPort !== null) await main(parentPort, workerData as WorkerStart);
