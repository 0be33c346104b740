/** Starts the ledger thread, and connects the other threads to it. */

import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import { startThread } from '../core/threads.ts';
import { LedgerClient } from './calls.ts';
import type { Handover } from './handover.ts';
import type { Ledger, LedgerControl, LedgerOptions, LedgerStart, LedgerSummary } from './ledger.ts';
import type { Ask, FromLedger, ToLedger, Told } from './protocol.ts';

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
  /** A process that has handed over has ended, and this many requests of it were charged as held. */
  onOrphans(requests: number): void;
  /** An internal error has ended the thread. Nothing can be admitted any more. */
  onDeath(error: Error): void;
}

/** A running ledger thread, as the thread that started it sees it. */
export interface RunningLedger {
  readonly client: LedgerControl;
  readonly summary: LedgerSummary;
  /** Opens a port for another thread, which passes it to `connectLedger`. */
  connect(): MessagePort;
  /**
   * Opens a port for what an earlier process asks. These requests are its own; what is open of them,
   * and of those that it has admitted here, is charged as held when the port closes.
   */
  connectEarlier(requestIds: readonly string[]): MessagePort;
  /**
   * Has the ledger end what it has begun and decide nothing more, until `keep` or `relay`. Rejects
   * with a UserError if it cannot be handed over; it decides on then.
   */
  handOver(): Promise<Handover>;
  /** Has the ledger decide again: nobody has taken over. */
  keep(): void;
  /**
   * The ledger of the next process decides from now on. What threads of this process ask is passed to
   * `ask`; undefined once a thread has ended.
   */
  relay(ask: (port: number, asked: Ask | undefined) => void): void;
  /** What the next process tells the thread at this port. */
  tell(port: number, told: Told): void;
  /** The next process has ended: fails all calls, and every later one. */
  abandon(reason: string): void;
  /** Runs the commands sent so far, then closes the file. Unsettled requests stay open in it. */
  close(): Promise<void>;
}

/** A ledger thread that has not opened the state. */
export interface WaitingLedger {
  /** Resolves when all is loaded that it takes to open it. Rejects with a UserError if that would take long. */
  readonly loaded: Promise<void>;
  /** Opens it, and goes on with what was handed over. Throws a UserError if it cannot be used. */
  open(handover?: Handover): Promise<RunningLedger>;
  /** In place of `open`. */
  discard(): Promise<void>;
}

/** Starts the ledger thread. Throws a UserError if the state file cannot be used. */
export function startLedger(options: LedgerOptions, events: LedgerEvents): Promise<RunningLedger> {
  return prepareLedger(options, events, false).open();
}

/**
 * Starts the thread. `isAhead`: it is to load all that it can before it opens the state, so that this
 * takes little time.
 */
export function prepareLedger(options: LedgerOptions, events: LedgerEvents, isAhead: boolean): WaitingLedger {
  const worker = startThread('ledger/thread', { workerData: { options, isAhead } satisfies LedgerStart });
  const started = Promise.withResolvers<RunningLedger>();
  // It may fail before anybody waits for it.
  started.promise.catch(() => {});
  const loaded = Promise.withResolvers<void>();
  loaded.promise.catch(() => {});
  const fail = (error: Error) => {
    loaded.reject(error);
    started.reject(error);
  };
  worker.once('error', fail);
  const receive = (message: FromLedger) => {
    if (message.kind === 'loaded') return loaded.resolve();
    worker.off('error', fail);
    worker.off('message', receive);
    if (message.kind === 'ready') started.resolve(new LedgerWorker(worker, message.summary, events));
    else fail(new UserError(message.kind === 'failed' ? message.lines : `unexpected message: ${message.kind}`));
  };
  worker.on('message', receive);
  return {
    loaded: loaded.promise,
    open: (handover) => {
      worker.postMessage({ kind: 'open', handover } satisfies ToLedger);
      return started.promise;
    },
    discard: async () => {
      await worker.terminate();
    },
  };
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
  #handover = Promise.withResolvers<Handover>();
  #ask: (port: number, asked: Ask | undefined) => void = () => {};

  constructor(worker: Worker, summary: LedgerSummary, events: LedgerEvents) {
    this.#worker = worker;
    this.summary = summary;
    // It may end while nobody waits for a handover.
    this.#handover.promise.catch(() => {});
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

  connectEarlier(inherited: readonly string[]): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.#worker.postMessage({ kind: 'connect', port: port1, inherited } satisfies ToLedger, [port1]);
    return port2;
  }

  handOver(): Promise<Handover> {
    this.#handover = Promise.withResolvers<Handover>();
    this.#send({ kind: 'hand_over' });
    return this.#handover.promise;
  }

  keep(): void {
    this.#send({ kind: 'keep' });
  }

  relay(ask: (port: number, asked: Ask | undefined) => void): void {
    this.#ask = ask;
    this.#send({ kind: 'relay' });
  }

  tell(port: number, told: Told): void {
    this.#send({ kind: 'relayed', port, told });
  }

  abandon(reason: string): void {
    this.client.end(reason);
    // Closes the ports of the other threads as well.
    this.#send({ kind: 'close' });
  }

  close(): Promise<void> {
    if (!this.client.hasEnded) {
      this.client.flush();
      this.#send({ kind: 'close' });
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
      case 'handover':
        this.#handover.resolve(message.handover);
        return;
      case 'not_handed_over':
        this.#handover.reject(new UserError(message.why));
        return;
      case 'relayed':
        this.#ask(message.port, message.asked);
        return;
      case 'charged_held':
        this.#events.onOrphans(message.requests);
        return;
      case 'closed':
        this.client.end('the ledger is closed');
        this.#closed.resolve();
        return;
      case 'loaded':
      case 'ready':
      case 'failed':
      case 'replies':
        return;
    }
  }

  #send(message: ToLedger): void {
    this.#worker.postMessage(message);
  }

  #die(error: Error): void {
    this.#closed.resolve();
    this.#handover.reject(error);
    if (this.client.hasEnded) return;
    this.client.end(error.message);
    this.#events.onDeath(error);
  }
}
