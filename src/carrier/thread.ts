/** A carrier's own thread. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { connectLedger } from '../ledger/client.ts';
import { forwardedLog } from '../observe/log.ts';
import { type Carrier, startCarrier } from './carrier.ts';
import type { CarrierStart, FromCarrier, ToCarrier } from './messages.ts';

async function main(port: MessagePort, { config, ledger }: CarrierStart): Promise<void> {
  const send = (message: FromCarrier) => port.postMessage(message);
  const { log, flush } = forwardedLog(config.logLevel, (lines) => send({ kind: 'log', lines }));
  let carrier: Carrier;
  try {
    carrier = await startCarrier({ config, ledger: connectLedger(ledger), log });
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    send({ kind: 'failed', lines: error.lines });
    return;
  }
  port.on('message', async (message: ToCarrier) => {
    if (message.kind === 'count_in_flight') return send({ kind: 'in_flight', requests: await carrier.inFlight() });
    const unsettled = await carrier.stop(message.milliseconds);
    flush();
    send({ kind: 'stopped', unsettled });
  });
  send({ kind: 'listening', address: carrier.address });
}

if (parentPort !== null) await main(parentPort, workerData as CarrierStart);
