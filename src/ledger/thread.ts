/** The entry point of the ledger's thread. */
import { parentPort, workerData } from 'node:worker_threads';
import type { LedgerStart } from './ledger.ts';
import { serveLedger } from './serve.ts';

/** The uncaught error ends the thread, which the main thread notices. */
function die(error: Error): never {
  throw error;
}

if (parentPort !== null) serveLedger(parentPort, workerData as LedgerStart, die);
