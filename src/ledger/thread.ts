/** The ledger thread: gathers what arrives while it works, and hands it to the engine as one batch. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Envelope, FromLedger, Reply, ToLedger } from './commands.ts';
import { LedgerEngine } from './engine.ts';
import type { LedgerOptions } from './ledger.ts';
import { assertDurability, explained, isStorageFault, openState, type Sqlite } from './sqlite.ts';

/** A pause between two tries to write what could not be written. */
const RETRY_MS = 100;
/** How many tries are made at the end, before settlements are left to the next start as open holds. */
const CLOSING_TRIES = 20;

class LedgerThread {
  readonly #port: MessagePort;
  readonly #database: Sqlite;
  readonly #engine: LedgerEngine;
  readonly #path: string;
  /** Bounded by the requests that are open: each waits for one answer at a time. */
  #queue: Envelope[] = [];
  #scheduled = false;
  #closing = false;
  #closingTries = 0;
  /** Why the file cannot be written, for as long as it cannot. */
  #fault: string | undefined;

  constructor(port: MessagePort, options: LedgerOptions) {
    this.#port = port;
    this.#path = options.path;
    const { database, created } = openState(options.path, options.durability);
    assertDurability(database, options.durability);
    this.#database = database;
    this.#engine = new LedgerEngine(database, options, systemClock);
    this.#send({ kind: 'ready', summary: this.#engine.recover(created) });
    port.on('message', (message: ToLedger) => this.#receive(message));
  }

  #receive(message: ToLedger): void {
    if (message.kind === 'close') this.#closing = true;
    else this.#queue.push(...message.envelopes);
    this.#schedule(0);
  }

  /** The batch starts once everything that has arrived by now was received. */
  #schedule(delayMs: number): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    const run = () => {
      this.#scheduled = false;
      this.#run();
    };
    if (delayMs === 0) setImmediate(run);
    else setTimeout(run, delayMs);
  }

  #run(): void {
    const batch = this.#queue;
    this.#queue = [];
    if (batch.length > 0) this.#process(batch);
    if (this.#closing && (this.#queue.length === 0 || ++this.#closingTries > CLOSING_TRIES)) this.#close();
  }

  #process(batch: readonly Envelope[]): void {
    try {
      const answers = this.#engine.process(batch.map((envelope) => envelope.command));
      this.#report(undefined);
      this.#reply(batch.map(({ ticket }, index) => ({ ticket, answer: answers[index] as (typeof answers)[number] })));
    } catch (error) {
      if (!isStorageFault(error)) throw error;
      this.#failClosed(batch, String((explained(error, this.#path) as Error).message));
    }
  }

  /** Nothing may be admitted that cannot be written down; what has ended is kept until it can. */
  #failClosed(batch: readonly Envelope[], message: string): void {
    this.#report(message);
    const settlements = batch.filter(({ command }) => command.kind === 'settle');
    const others = batch.filter(({ command }) => command.kind !== 'settle');
    this.#reply(others.map(({ ticket }) => ({ ticket, unavailable: message })));
    this.#queue.unshift(...settlements);
    if (settlements.length > 0) this.#schedule(RETRY_MS);
  }

  /** Tells when the state of the file changes, and not with every try. */
  #report(fault: string | undefined): void {
    if (fault === this.#fault) return;
    this.#fault = fault;
    this.#send(fault === undefined ? { kind: 'storage_recovered' } : { kind: 'storage_fault', message: fault });
  }

  #reply(replies: readonly Reply[]): void {
    if (replies.length > 0) this.#send({ kind: 'replies', replies });
  }

  #close(): void {
    this.#send({ kind: 'closed', unsettled: this.#queue.length });
    this.#database.close();
    this.#port.close();
  }

  #send(message: FromLedger): void {
    this.#port.postMessage(message);
  }
}

function main(port: MessagePort, options: LedgerOptions): void {
  try {
    new LedgerThread(port, options);
  } catch (error) {
    const told = explained(error, options.path);
    if (!(told instanceof UserError)) throw error;
    port.postMessage({ kind: 'failed', lines: told.lines } satisfies FromLedger);
  }
}

if (parentPort !== null) main(parentPort, workerData as LedgerOptions);
