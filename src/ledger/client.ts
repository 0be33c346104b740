/** The ledger as promises: sends what a turn of the event loop asks for as one message to the ledger thread. */

import { extname } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { RateFigures } from '../core/limits.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';
import { Tickets } from '../core/tickets.ts';
import {
  type Admission,
  type AdmissionRequest,
  type Identity,
  type Ledger,
  type LedgerControl,
  type LedgerOptions,
  type LedgerSettings,
  type LedgerSnapshot,
  type LedgerSummary,
  LedgerUnavailable,
  type ListingAdmission,
} from './ledger.ts';
import type { Answer, Answers, Command, FromLedger, Reply, ToLedger } from './protocol.ts';
import { type PackedCommand, packCommand, unpackReply } from './protocol.ts';

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

/** The ledger thread, for the thread that started it. */
export interface RunningLedger {
  readonly client: LedgerControl;
  readonly summary: LedgerSummary;
  /** A way to it for another thread, to be handed to `connectLedger` there. */
  connect(): MessagePort;
  /** Writes what was asked for so far and closes the file. Requests that are not settled stay open in it. */
  close(): Promise<void>;
}

/** Starts the ledger thread. Throws a UserError when the state file cannot be used. */
export function startLedger(options: LedgerOptions, events: LedgerEvents): Promise<RunningLedger> {
  const worker = new Worker(THREAD, { workerData: options });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromLedger) => {
      worker.off('error', reject);
      if (message.kind === 'ready') resolve(new LedgerWorker(worker, message.summary, events));
      else
        reject(new UserError(message.kind === 'failed' ? message.lines : `unexpected ${message.kind} from the ledger`));
    });
  });
}

/** The ledger as seen from a thread that has not started it. */
export function connectLedger(port: MessagePort): Ledger {
  const client = new LedgerClient(port);
  port.on('message', (message: FromLedger) => client.receive(message));
  port.on('close', () => client.end('the ledger is closed'));
  return client;
}

class LedgerWorker implements RunningLedger {
  readonly client: LedgerClient;
  readonly summary: LedgerSummary;
  readonly #worker: Worker;
  readonly #events: LedgerEvents;
  readonly #closed = Promise.withResolvers<void>();

  constructor(worker: Worker, summary: LedgerSummary, events: LedgerEvents) {
    this.#worker = worker;
    this.summary = summary;
    this.#events = events;
    this.client = new LedgerClient(worker);
    worker.on('message', (message: FromLedger) => this.#receive(message));
    worker.on('error', (error: Error) => this.#die(error));
    worker.on('exit', () => this.#die(new Error('the ledger thread has ended')));
  }

  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage({ kind: 'connect', port: port1 } satisfies ToLedger, [port1]);
    return port2;
  }

  close(): Promise<void> {
    if (!this.client.hasEnded) {
      this.client.flush();
      this.#worker.postMessage({ kind: 'close' } satisfies ToLedger);
    }
    return this.#closed.promise;
  }

  #receive(message: FromLedger): void {
    this.client.receive(message);
    switch (message.kind) {
      case 'storage_fault':
        this.#events.onStorageFault(message.message);
        return;
      case 'storage_recovered':
        this.#events.onStorageRecovered();
        return;
      case 'closed':
        this.client.end('the ledger is closed');
        this.#closed.resolve();
        return;
      case 'ready':
      case 'failed':
      case 'replies':
        return;
    }
  }

  #die(error: Error): void {
    this.#closed.resolve();
    if (this.client.hasEnded) return;
    this.client.end(error.message);
    this.#events.onDeath(error);
  }
}

/** The ledger's end of a port. */
interface LedgerPort {
  postMessage(message: ToLedger): void;
}

class LedgerClient implements LedgerControl {
  readonly #port: LedgerPort;
  readonly #tickets = new Tickets<Answer>();
  #outbox: PackedCommand[] = [];
  #fault: string | undefined;
  #ended: LedgerUnavailable | undefined;

  constructor(port: LedgerPort) {
    this.#port = port;
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

  async configure(settings: LedgerSettings): Promise<void> {
    await this.#ask({ kind: 'configure', settings });
  }

  snapshot(keyIds: readonly string[]): Promise<LedgerSnapshot> {
    return this.#ask({ kind: 'snapshot', keyIds });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** For those who listen at the port. */
  receive(message: FromLedger): void {
    if (message.kind === 'replies') for (const reply of message.replies) this.#deliver(unpackReply(reply));
    else if (message.kind === 'storage_fault') this.#fault = message.message;
    else if (message.kind === 'storage_recovered') this.#fault = undefined;
  }

  /** From here on nobody answers: whoever waits is told. */
  end(reason: string): void {
    this.#ended ??= new LedgerUnavailable(reason);
    this.#tickets.rejectAll(this.#ended);
  }

  /** Sends what was asked for in this turn of the event loop. */
  flush(): void {
    const commands = this.#outbox;
    this.#outbox = [];
    if (commands.length > 0) this.#port.postMessage({ kind: 'commands', commands });
  }

  #ask<K extends keyof Answers>(command: Extract<Command, { kind: K }>): Promise<Answers[K]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { ticket, reply } = this.#tickets.take();
    // Everything that one turn of the event loop asks for travels together: a message costs as much as 20 commands.
    if (this.#outbox.length === 0) setImmediate(() => this.flush());
    this.#outbox.push(packCommand({ ticket, command }));
    // The thread answers each command with what belongs to its kind.
    return reply as Promise<Answers[K]>;
  }

  #deliver(reply: Reply): void {
    if ('answer' in reply) this.#tickets.resolve(reply.ticket, reply.answer);
    else this.#tickets.reject(reply.ticket, new LedgerUnavailable(reply.unavailable));
  }
}
