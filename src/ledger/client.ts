/** The ledger as promises: sends what a turn of the event loop asks for as one message to the ledger thread. */
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { Answer, Answers, Command, Envelope, FromLedger, Reply, ToLedger } from './commands.ts';
import {
  type Admission,
  type AdmissionRequest,
  type CountedRefusal,
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
  /** It can be written again. */
  onStorageRecovered(): void;
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
  #fault: string | undefined;
  #nextTicket = 1;
  #ended: LedgerUnavailable | undefined;
  #onClosed: () => void = () => {};

  constructor(worker: Worker, events: LedgerEvents) {
    this.#worker = worker;
    this.#events = events;
    worker.on('message', (message: FromLedger) => this.#receive(message));
    worker.on('error', (error: Error) => this.#die(error));
    worker.on('exit', () => this.#die(new Error('the ledger thread has ended')));
  }

  get fault(): string | undefined {
    return this.#fault;
  }

  identify(keyHash: string): Promise<Identity> {
    return this.#ask({ kind: 'identify', keyHash });
  }

  admitListing(keyHash: string): Promise<ListingAdmission> {
    return this.#ask({ kind: 'admit_listing', keyHash });
  }

  admit(request: AdmissionRequest): Promise<Admission> {
    return this.#ask({ kind: 'admit', request });
  }

  settle(settlement: Settlement): Promise<RateFigures> {
    return this.#ask({ kind: 'settle', settlement });
  }

  countRefusal(refusal: CountedRefusal): void {
    // Nobody waits for it, and a ledger that cannot answer has told so otherwise.
    this.#ask({ kind: 'count_refusal', refusal }).catch(() => {});
  }

  close(): Promise<void> {
    if (this.#ended !== undefined) return Promise.resolve();
    this.#flush();
    return new Promise((resolve) => {
      this.#onClosed = resolve;
      this.#send({ kind: 'close' });
    });
  }

  #ask<K extends keyof Answers>(command: Extract<Command, { kind: K }>): Promise<Answers[K]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const ticket = this.#nextTicket++;
    // Everything that one turn of the event loop asks for travels together: a message costs as much as 20 commands.
    if (this.#outbox.length === 0) setImmediate(() => this.#flush());
    this.#outbox.push({ ticket, command });
    // The thread answers each command with what belongs to its kind.
    return new Promise<Answer>((resolve, reject) => this.#waiting.set(ticket, { resolve, reject })) as Promise<
      Answers[K]
    >;
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
        this.#fault = message.message;
        this.#events.onStorageFault(message.message);
        return;
      case 'storage_recovered':
        this.#fault = undefined;
        this.#events.onStorageRecovered();
        return;
      case 'closed':
        if (message.unsettled > 0) {
          this.#events.onStorageFault(
            `${message.unsettled} requests stay open in the file and are charged as held at the next start`,
          );
        }
        this.#end('the ledger is closed');
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

  #die(error: Error): void {
    if (this.#ended !== undefined) return;
    this.#end(error.message);
    this.#events.onDeath(error);
  }

  /** From here on nobody answers: whoever waits is told. */
  #end(reason: string): void {
    this.#ended = new LedgerUnavailable(reason);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#ended);
    this.#waiting.clear();
    this.#onClosed();
  }
}
