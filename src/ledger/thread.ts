/**
 * The ledger thread: collects the commands that arrive while it works, and runs them as one batch.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { LedgerStore } from '../state/sqlite/ledger-store.ts';
import type { StorageFault } from '../state/storage-fault.ts';
import { LedgerEngine } from './engine.ts';
import type { LedgerOptions, LedgerSettings } from './ledger.ts';
import { type Answer, type FromLedger, isWritten, type ToLedger, unpackCommand, waitsForStore } from './protocol.ts';
import { type QueuedCommand, Responder } from './responder.ts';

/** How long a batch waits for another writer. Requests that meet a longer lock fail. */
const LOCK_WAIT_MS = 2_000;
/** The pause between two attempts at a file that cannot be written. */
const RETRY_MS = 100;
/** How long counted refusals wait, so that later ones are written with them. */
const REFUSALS_MS = 100;
/** The time between two searches for journal rows past their retention. */
const RETENTION_MS = 600_000;
/** The pause between two steps of a search that found more. Requests come first. */
const RETENTION_STEP_MS = 50;
/** The number of batches between two checks of the size of the store's log. */
const BATCHES_PER_LOG_CHECK = 100;
/**
 * The number of attempts when closing. After that, unsettled requests stay open and the next start
 * settles them.
 */
const CLOSING_ATTEMPTS = 20;

class LedgerThread {
  /** The port of the main thread. */
  readonly #main: MessagePort;
  /** The ports of all threads that send commands. */
  readonly #ports = new Set<MessagePort>();
  readonly #store: LedgerStore;
  readonly #engine: LedgerEngine;
  readonly #responder: Responder;
  /**
   * Bounded by the open requests: each has one command outstanding at a time, and may count one
   * refusal.
   */
  #queue: QueuedCommand[] = [];
  #scheduled = false;
  #batches = 0;
  #closing = false;
  #closed = false;
  #closingAttempts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #refusalsTimer: NodeJS.Timeout | undefined;
  #retentionTimer: NodeJS.Timeout | undefined;
  /** Why the file cannot be written; undefined while it can. */
  #fault: StorageFault | undefined;

  constructor(port: MessagePort, store: LedgerStore, settings: LedgerSettings) {
    this.#main = port;
    this.#store = store;
    this.#engine = new LedgerEngine(store, settings, systemClock);
    this.#responder = new Responder(store);
    send(port, { kind: 'ready', summary: this.#engine.recover() });
    this.#connect(port);
    this.#dropOldRows();
  }

  /** Drops journal rows past their retention in small steps, and searches again after a while. */
  #dropOldRows(): void {
    let isMore = false;
    if (this.#engine.journalRetentionMs !== undefined && this.#fault === undefined) {
      this.#tryTo(() => {
        isMore = this.#engine.dropOldRows(this.#lockWaitMs);
      });
    }
    if (this.#fault !== undefined) this.#scheduleRetry();
    clearTimeout(this.#retentionTimer);
    this.#retentionTimer = setTimeout(() => this.#dropOldRows(), isMore ? RETENTION_STEP_MS : RETENTION_MS);
  }

  #connect(port: MessagePort): void {
    this.#ports.add(port);
    port.on('message', (message: ToLedger) => this.#receive(message, port));
    port.once('close', () => {
      this.#ports.delete(port);
      this.#responder.forget(port);
    });
    if (this.#fault !== undefined) send(port, { kind: 'storage_fault', message: this.#fault.message });
  }

  #receive(message: ToLedger, port: MessagePort): void {
    if (message.kind === 'connect') return this.#connect(message.port);
    if (message.kind === 'flush') this.#responder.flushFor(port, message.commit);
    else if (message.kind === 'close') this.#closing = true;
    else for (const command of message.commands) this.#queue.push({ envelope: unpackCommand(command), port });
    this.#schedule();
  }

  /** Starts a batch after the messages that have already arrived are received. */
  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#run();
    });
  }

  /** Runs again after a pause, even if no command arrives. */
  #scheduleRetry(): void {
    if (this.#closed) return;
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined;
      this.#schedule();
    }, RETRY_MS);
  }

  #run(): void {
    const batch = this.#queue;
    this.#queue = [];
    if (batch.length > 0) this.#process(batch);
    else if (this.#fault !== undefined) this.#probe();
    if (this.#engine.hasRefusals) this.#writeRefusalsSoon();
    if (++this.#batches % BATCHES_PER_LOG_CHECK === 0 && this.#fault === undefined) {
      this.#tryTo(() => this.#store.boundLog());
    }
    const isIdle = this.#queue.length === 0 && !this.#responder.isBehind;
    if (this.#closing && (isIdle || ++this.#closingAttempts > CLOSING_ATTEMPTS)) this.#close();
    else if (this.#fault !== undefined) this.#scheduleRetry();
    void this.#flush();
  }

  #process(batch: readonly QueuedCommand[]): void {
    const commands = batch.map(({ envelope }) => envelope.command);
    const writes = commands.some(isWritten);
    try {
      if (writes) this.#store.assertUsable();
      const answers = this.#engine.process(commands, this.#lockWaitMs);
      if (writes) this.#report(undefined);
      this.#responder.answer(
        batch.map((command, index) => ({ ...command, answer: answers[index] as Answer })),
        writes,
      );
      // The retention may be shorter now.
      if (commands.some(({ kind }) => kind === 'configure')) this.#dropOldRows();
    } catch (error) {
      this.#failClosed(batch, this.#faultOf(error));
    }
  }

  /** Flushes for as long as somebody waits for it. */
  async #flush(): Promise<void> {
    if (!this.#responder.shouldFlush) return;
    try {
      while (this.#responder.shouldFlush && !this.#closed) await this.#responder.flush();
    } catch (error) {
      this.#report(this.#faultOf(error));
      return this.#scheduleRetry();
    }
    if (this.#closing) this.#schedule();
  }

  /**
   * While the gateway reports that it is not ready, requests may stop coming. Only a write shows
   * that it is again.
   */
  #probe(): void {
    if (this.#fault?.kind === 'damage') return;
    this.#tryTo(() => this.#store.probe(this.#lockWaitMs));
  }

  #writeRefusalsSoon(): void {
    this.#refusalsTimer ??= setTimeout(() => this.#writeRefusals(), REFUSALS_MS);
  }

  #writeRefusals(): void {
    clearTimeout(this.#refusalsTimer);
    this.#refusalsTimer = undefined;
    if (!this.#engine.hasRefusals) return;
    this.#tryTo(() => this.#engine.writeRefusals(this.#lockWaitMs));
    if (this.#fault !== undefined) this.#scheduleRetry();
  }

  /** Writes something that no command waits for, and reports a storage fault. */
  #tryTo(write: () => void): void {
    try {
      this.#store.assertUsable();
      write();
      // In a damaged file, a write to another page proves nothing.
      if (this.#fault?.kind !== 'damage') this.#report(undefined);
    } catch (error) {
      this.#report(this.#faultOf(error));
    }
  }

  /** During a storage fault nothing waits for a lock: requests fail at once. */
  get #lockWaitMs(): number {
    return this.#fault === undefined ? LOCK_WAIT_MS : 0;
  }

  /**
   * The storage fault behind an error. Throws the error if it is an internal one, which ends the
   * thread.
   */
  #faultOf(error: unknown): StorageFault {
    const fault = this.#store.faultOf(error);
    if (fault === undefined) throw error;
    // During a fault nothing waits for a lock, so a busy lock is not a new fault.
    return this.#fault !== undefined && fault.kind === 'busy' ? this.#fault : fault;
  }

  /**
   * What cannot be written is not admitted. What requests in flight need stays in the queue until
   * it can be written.
   */
  #failClosed(batch: readonly QueuedCommand[], fault: StorageFault): void {
    this.#report(fault);
    const waiting = batch.filter(({ envelope }) => waitsForStore(envelope.command));
    const others = batch.filter(({ envelope }) => !waitsForStore(envelope.command));
    this.#responder.reply(others, ({ envelope: { ticket } }) => ({ ticket, unavailable: fault.message }));
    this.#queue.unshift(...waiting);
  }

  /**
   * Notifies all threads when a storage fault begins, changes or ends, but not of every attempt.
   */
  #report(fault: StorageFault | undefined): void {
    const known = this.#fault?.message;
    this.#fault = fault;
    if (fault?.message === known) return;
    for (const port of this.#ports) {
      send(
        port,
        fault === undefined ? { kind: 'storage_recovered' } : { kind: 'storage_fault', message: fault.message },
      );
    }
  }

  #close(): void {
    this.#closed = true;
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#retentionTimer);
    this.#writeRefusals();
    this.#tryTo(() => this.#responder.flushNow());
    send(this.#main, { kind: 'closed' });
    this.#store.close();
    for (const port of this.#ports) port.close();
  }
}

function send(port: MessagePort, message: FromLedger): void {
  port.postMessage(message);
}

function main(port: MessagePort, { path, durability, ...settings }: LedgerOptions): void {
  let store: LedgerStore | undefined;
  try {
    store = LedgerStore.open(path, durability);
    new LedgerThread(port, store, settings);
  } catch (error) {
    const fault = store?.faultOf(error);
    if (fault !== undefined) return send(port, { kind: 'failed', lines: [fault.message] });
    if (!(error instanceof UserError)) throw error;
    send(port, { kind: 'failed', lines: error.lines });
  }
}

if (parentPort !== null) main(parentPort, workerData as LedgerOptions);
