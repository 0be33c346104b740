/** A carrier in a thread of its own, as the main thread sees it. */
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import { UserError } from '../core/errors.ts';
import type { BoardLook } from '../live/board.ts';
import type { Carrier, CarrierView } from './carrier.ts';
import type { Answers, CarrierStart, FromCarrier, Question, ToCarrier } from './messages.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

export interface RemoteEvents {
  /** Lines of its log, to be written. */
  onLog(lines: string): void;
  /** The thread has ended by a fault of the program. What it carried stays open in the file. */
  onDeath(error: Error): void;
}

/** Starts a carrier in a thread of its own. Throws a UserError when the address cannot be had. */
export function startRemoteCarrier(start: CarrierStart, events: RemoteEvents): Promise<Carrier> {
  const worker = new Worker(THREAD, { workerData: start, transferList: [start.ledger] });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.on('message', (message: FromCarrier) => {
      if (message.kind === 'log') events.onLog(message.lines);
      else if (message.kind === 'failed') {
        void worker.terminate();
        reject(new UserError(message.lines));
      } else if (message.kind === 'listening') {
        worker.off('error', reject);
        resolve(new RemoteCarrier(worker, message.address, events));
      }
    });
  });
}

class RemoteCarrier implements Carrier {
  readonly address: AddressInfo;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answers[keyof Answers]>>();
  #nextTicket = 1;

  constructor(worker: Worker, address: AddressInfo, events: RemoteEvents) {
    this.#worker = worker;
    this.address = address;
    worker.on('message', (message: FromCarrier) => {
      if (message.kind === 'answer') this.#take(message.ticket)?.resolve(message.answer);
    });
    worker.on('error', (error: Error) => {
      for (const ticket of [...this.#waiting.keys()]) this.#take(ticket)?.reject(error);
      events.onDeath(error);
    });
  }

  inFlight(): Promise<number> {
    return this.#ask({ kind: 'in_flight' });
  }

  look(look: BoardLook): Promise<CarrierView> {
    return this.#ask({ kind: 'look', look });
  }

  stopRequest(id: string): Promise<boolean> {
    return this.#ask({ kind: 'stop_request', id });
  }

  async reload(config: Config): Promise<void> {
    await this.#ask({ kind: 'reload', config });
  }

  stop(milliseconds: number): Promise<number> {
    return this.#ask({ kind: 'stop', milliseconds });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask<K extends Question['kind']>(question: Extract<Question, { kind: K }>): Promise<Answers[K]> {
    const ticket = this.#nextTicket++;
    const answer = Promise.withResolvers<Answers[keyof Answers]>();
    this.#waiting.set(ticket, answer);
    this.#worker.postMessage({ ticket, question } satisfies ToCarrier);
    // The thread answers each question with what belongs to its kind.
    return answer.promise as Promise<Answers[K]>;
  }

  #take(ticket: number): PromiseWithResolvers<Answers[keyof Answers]> | undefined {
    const waiting = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    return waiting;
  }
}
