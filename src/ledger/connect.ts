/** Connects a thread to the ledger that another one has started. */
import type { MessagePort } from 'node:worker_threads';
import { Port } from '../core/port.ts';
import { LedgerClient } from './calls.ts';
import type { Ledger } from './ledger.ts';
import type { Askable, Tellable } from './protocol.ts';

export function connectLedger(channel: MessagePort): Ledger {
  const port = new Port<Tellable, Askable>(channel, 'the ledger');
  const client = new LedgerClient(port);
  port.serve({ told: (...told) => client.receive(told) });
  channel.on('close', () => client.end('the ledger is closed'));
  return client;
}
