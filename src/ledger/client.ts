/** The ledger as promises: sends what a turn of the event loop asks for as one message to the ledger thread. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { Answer, Command, Envelope, FromLedger, Reply, ToLedger } from './commands.ts';
import {
  type Admission,
  type AdmissionRequest,
  type Identity,
  type Ledger,
  type LedgerOptions,
  type LedgerSummary,
  LedgerUnavailable,
  type ListingAdmission,
  type RateFigures,
  type Settlement,
} from './ledger.ts';

// The thread's file has the ending of this one: .ts from the sources, .js once built.
const THREAD = new URL(`./thread${extname(import.meta.url)}`, import.meta.url);

/** Told of what the ledger cannot answer for by itself. */
export interface LedgerEvents {
  /** The file cannot be written at the moment. */
  onStorageFault(message: string): void;
  /** The thread has ended by a fault of the program. Nothing can be admitted any more. */
  onDeath(error: Error): void;
}

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: Error): void;
}

/** Starts the ledger thread. Throws a UserError when the state file cannot be used. */
export function startLedger(
  options: LedgerOptions,
  events: LedgerEvents,
): Promise<{ ledger: Ledger; summary: LedgerSummary }> {
  const worker = new Worker(THREAD, { workerData: options });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromLedger) => {
      worker.off('error', reject);
      if (message.kind === 'ready') resolve({ ledger: new LedgerClient(worker, events), summary: message.summary });
      else
        reject(new UserError(message.kind === 'failed' ? message.lines : `unexpected ${message.kind} from the ledger`));
    });
  });
}

class LedgerClient implements Ledger {
  readonly #worker: Worker;
  readonly #events: LedgerEvents;
  readonly #waiting = new Map<number, Waiting>();
  #outbox: Envelope[] = [];
  #nextTicket = 1;
  #dead: LedgerUnavailable | undefined;
  #onClosed: () => void = () => {};

  constructor(worker: Worker, events: LedgerEvents) {
    this.#worker = worker;
    this.#events = events;
    worker.on('message', (message: FromLedger) => this.#receive(message));
    worker.on('error', (error: Error) => this.#die(error));
    worker.on('exit', () => this.#die(new Error('the ledger thread has ended')));
  }

  identify(keyHash: string): Promise<Identity> {
    return this.#ask({ kind: 'identify', keyHash }) as Promise<Identity>;
  }

  admitListing(keyHash: string): Promise<ListingAdmission> {
    return this.#ask({ kind: 'admit_listing', keyHash }) as Promise<ListingAdmission>;
  }

  admit(request: AdmissionRequest): Promise<Admission> {
    return this.#ask({ kind: 'admit', request }) as Promise<Admission>;
  }

  settle(settlement: Settlement): Promise<RateFigures> {
    return this.#ask({ kind: 'settle', settlement }) as Promise<RateFigures>;
  }

  close(): Promise<void> {
    if (this.#dead !== undefined) return Promise.resolve();
    this.#flush();
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      this.#send({ kind: 'close' });
    });
  }

  #ask(command: Command): Promise<Answer> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    const ticket = this.#nextTicket++;
    // Everything that one turn of the event loop asks for travels together: a message costs as much as 20 commands.
    if (this.#outbox.length === 0) setImmediate(() => this.#flush());
    this.#outbox.push({ ticket, command });
    return new Promise((resolve, reject) => this.#waiting.set(ticket, { resolve, reject }));
  }

  #flush(): void {
    const envelopes = this.#outbox;
    this.#outbox = [];
    if (envelopes.length > 0) this.#send({ kind: 'commands', envelopes });
  }

  #send(message: ToLedger): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromLedger): void {
    switch (message.kind) {
      case 'replies':
        for (const reply of message.replies) this.#deliver(reply);
        return;
      case 'storage_fault':
        this.#events.onStorageFault(message.message);
        return;
      case 'closed':
        if (message.unsettled > 0) {
          this.#events.onStorageFault(
            `${message.unsettled} requests stay open in the file and are charged as held at the next start`,
          );
        }
        this.#die(new Error('the ledger is closed'), false);
        this.#onClosed();
        return;
      case 'ready':
      case 'failed':
        return;
    }
  }

  #deliver(reply: Reply): void {
    const waiting = this.#waiting.get(reply.ticket);
    this.#waiting.delete(reply.ticket);
    if ('answer' in reply) waiting?.resolve(reply.answer);
    else waiting?.reject(new LedgerUnavailable(reply.unavailable));
  }

  #die(error: Error, unexpected = true): void {
    if (this.#dead !== undefined) return;
    this.#dead = new LedgerUnavailable(error.message);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#dead);
    this.#waiting.clear();
    if (unexpected) this.#events.onDeath(error);
  }
}
