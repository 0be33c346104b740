/**
 * The ledger's client: sends the commands of one turn of the event loop as one message to the
 * ledger thread.
 */

import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { RateFigures } from '../core/limits.ts';
import type { CountedRefusal, Settlement } from '../core/settlement.ts';
import { startThread } from '../core/threads.ts';
import { Tickets } from '../core/tickets.ts';
import {
  type Admission,
  type AdmissionRequest,
  type Grant,
  type Growth,
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

/** Events the ledger reports outside of replies. */
export interface LedgerEvents {
  /** The file cannot be written. The message says why and what to do. */
  onStorageFault(message: string): void;
  /** It can be written again. */
  onStorageRecovered(): void;
  /** Operators stop these requests, through the database. */
  onStops(requestIds: readonly string[]): void;
  /** Other gateways are dead, and this many requests of theirs were charged as held. */
  onDeaths(names: readonly string[], requests: number): void;
  /** An internal error has ended the thread. Nothing can be admitted any more. */
  onDeath(error: Error): void;
}

/** A running ledger thread, as the thread that started it sees it. */
export interface RunningLedger {
  readonly client: LedgerControl;
  readonly summary: LedgerSummary;
  /** Opens a port for another thread, which passes it to `connectLedger`. */
  connect(): MessagePort;
  /** Runs the commands sent so far, then closes the file. Unsettled requests stay open in it. */
  close(): Promise<void>;
}

/** Starts the ledger thread. Throws a UserError if the state file cannot be used. */
export function startLedger(options: LedgerOptions, events: LedgerEvents): Promise<RunningLedger> {
  const worker = startThread('ledger/thread', { workerData: options });
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (message: FromLedger) => {
      worker.off('error', reject);
      if (message.kind === 'ready') resolve(new LedgerWorker(worker, message.summary, events));
      else
        reject(
          new UserError(
            message.kind === 'failed' ? message.lines : `unexpected message from the ledger thread: ${message.kind}`,
          ),
        );
    });
  });
}

/** The ledger for a thread that has not started it. */
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
      case 'stops':
        this.#events.onStops(message.requestIds);
        return;
      case 'deaths':
        this.#events.onDeaths(message.names, message.requests);
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

/** A port to the ledger thread. */
interface LedgerPort {
  postMessage(message: ToLedger): void;
}

class LedgerClient implements LedgerControl {
  readonly #port: LedgerPort;
  readonly #tickets = new Tickets<Answer>();
  #outbox: PackedCommand[] = [];
  #commit = 0;
  #flushed = 0;
  /** Who waits for a flush, by the commit. */
  readonly #flushes = new Map<number, PromiseWithResolvers<void>>();
  #storageFault: string | undefined;
  #ended: LedgerUnavailable | undefined;

  constructor(port: LedgerPort) {
    this.#port = port;
  }

  get storageFault(): string | undefined {
    return this.#storageFault;
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

  get commit(): number {
    return this.#commit;
  }

  flushed(commit: number): Promise<void> | undefined {
    if (commit <= this.#flushed) return undefined;
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    let waiting = this.#flushes.get(commit);
    if (waiting === undefined) {
      waiting = Promise.withResolvers<void>();
      this.#flushes.set(commit, waiting);
      this.#port.postMessage({ kind: 'flush', commit });
    }
    return waiting.promise;
  }

  settle(settlement: Settlement): Promise<RateFigures> {
    return this.#ask({ kind: 'settle', settlement });
  }

  grow(growth: Growth): Promise<Grant> {
    return this.#ask({ kind: 'grow', growth });
  }

  freeSlot(requestId: string): void {
    this.#tell({ kind: 'free_slot', requestId });
  }

  countRefusal(refusal: CountedRefusal): void {
    this.#tell({ kind: 'count_refusal', refusal });
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

  /** To be called with every message from the port. */
  receive(message: FromLedger): void {
    if (message.kind === 'replies') this.#receiveReplies(message);
    else if (message.kind === 'storage_fault') this.#storageFault = message.message;
    else if (message.kind === 'storage_recovered') this.#storageFault = undefined;
  }

  /** No more replies will come: rejects all outstanding calls, and every later one. */
  end(reason: string): void {
    this.#ended ??= new LedgerUnavailable(reason);
    this.#tickets.rejectAll(this.#ended);
    for (const { reject } of this.#flushes.values()) reject(this.#ended);
    this.#flushes.clear();
  }

  /** Sends the commands of this turn of the event loop. */
  flush(): void {
    const commands = this.#outbox;
    this.#outbox = [];
    if (commands.length > 0) this.#port.postMessage({ kind: 'commands', commands });
  }

  /** Nothing waits for the answer, and a ledger that cannot answer reports that elsewhere. */
  #tell(command: Command): void {
    this.#ask(command).catch(() => {});
  }

  #ask<K extends keyof Answers>(command: Extract<Command, { kind: K }>): Promise<Answers[K]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { ticket, reply } = this.#tickets.take();
    // The commands of one turn are sent together: a message costs as much as 20 commands.
    if (this.#outbox.length === 0) setImmediate(() => this.flush());
    this.#outbox.push(packCommand({ ticket, command }));
    // The thread answers each command with the answer of its kind.
    return reply as Promise<Answers[K]>;
  }

  #receiveReplies({ replies, commit, flushed }: Extract<FromLedger, { kind: 'replies' }>): void {
    this.#commit = commit;
    this.#flushed = flushed;
    for (const [waitedFor, { resolve }] of this.#flushes) {
      if (waitedFor > flushed) continue;
      this.#flushes.delete(waitedFor);
      resolve();
    }
    for (const reply of replies) this.#deliver(unpackReply(reply));
  }

  #deliver(reply: Reply): void {
    if ('answer' in reply) this.#tickets.resolve(reply.ticket, reply.answer);
    else this.#tickets.reject(reply.ticket, new LedgerUnavailable(reply.unavailable));
  }
}
