/** A carrier in a thread of its own, as the main thread sees it. */
import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { Carrier } from './carrier.ts';
import type { CarrierStart, FromCarrier, ToCarrier } from './messages.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

export interface RemoteEvents {
  /** Lines of its log, to be written. */
  onLog(lines: string): void;
  /** The thread has ended by a fault of the program. What it carried stays open in the file. */
  onDeath(error: Error): void;
}

/** Starts a carrier in a thread of its own. Throws a UserError when the address cannot be had. */
export async function startRemoteCarrier(start: CarrierStart, events: RemoteEvents): Promise<Carrier> {
  const worker = new Worker(THREAD, { workerData: start, transferList: [start.ledger] });
  worker.on('message', (message: FromCarrier) => {
    if (message.kind === 'log') events.onLog(message.lines);
  });
  const first = await nextOf(worker, 'listening', 'failed');
  if (first.kind === 'failed') {
    await worker.terminate();
    throw new UserError(first.lines);
  }
  worker.on('error', (error: Error) => events.onDeath(error));
  return new RemoteCarrier(worker, first.address);
}

class RemoteCarrier implements Carrier {
  readonly address: AddressInfo;
  readonly #worker: Worker;

  constructor(worker: Worker, address: AddressInfo) {
    this.#worker = worker;
    this.address = address;
  }

  async inFlight(): Promise<number> {
    this.#send({ kind: 'count_in_flight' });
    return (await nextOf(this.#worker, 'in_flight')).requests;
  }

  async stop(milliseconds: number): Promise<number> {
    this.#send({ kind: 'stop', milliseconds });
    const { unsettled } = await nextOf(this.#worker, 'stopped');
    await this.#worker.terminate();
    return unsettled;
  }

  #send(message: ToCarrier): void {
    this.#worker.postMessage(message);
  }
}

/** The next message of one of these kinds. Rejects when the thread fails before. */
async function nextOf<K extends FromCarrier['kind']>(
  worker: Worker,
  ...kinds: readonly K[]
): Promise<Extract<FromCarrier, { kind: K }>> {
  const news = new EventEmitter();
  const onMessage = (message: FromCarrier) => {
    if (kinds.includes(message.kind as K)) news.emit('message', message);
  };
  const onError = (error: Error) => news.emit('error', error);
  worker.on('message', onMessage).on('error', onError);
  try {
    const [message] = await once(news, 'message');
    return message;
  } finally {
    worker.off('message', onMessage).off('error', onError);
  }
}
