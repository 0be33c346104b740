/** A carrier's own thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { connectLedger } from '../ledger/client.ts';
import { forwardedLog } from '../observe/log.ts';
import { type Carrier, startCarrier } from './carrier.ts';
import type { Answers, CarrierStart, FromCarrier, Question, ToCarrier } from './messages.ts';

async function main(port: MessagePort, { config, ledger, patience }: CarrierStart): Promise<void> {
  const send = (message: FromCarrier) => port.postMessage(message);
  const { log, flush } = forwardedLog(config.logLevel, (lines) => send({ kind: 'log', lines }));
  let carrier: Carrier;
  try {
    carrier = await startCarrier({ config, ledger: connectLedger(ledger), log, patience });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    send({ kind: 'failed', lines: error.lines });
    return;
  }
  port.on('message', async ({ ticket, question }: ToCarrier) => {
    const answer = await answerTo(question, carrier);
    flush();
    send({ kind: 'answer', ticket, answer });
  });
  send({ kind: 'listening', address: carrier.address });
}

async function answerTo(question: Question, carrier: Carrier): Promise<Answers[keyof Answers]> {
  switch (question.kind) {
    case 'in_flight':
      return carrier.inFlight();
    case 'look':
      return carrier.look(question.look);
    case 'stop_request':
      return carrier.stopRequest(question.id);
    case 'reload':
      await carrier.reload(question.config);
      return undefined;
    case 'stop':
      return carrier.stop(question.milliseconds);
  }
}

if (parentPort !== null) await main(parentPort, workerData as CarrierStart);
