/** The ledger thread: gathers what arrives while it works, and hands it to the engine as one batch. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { assertDurability, openDatabase, type Sqlite, writeNothing } from '../state/sqlite/database.ts';
import { LogBound } from '../state/sqlite/log-bound.ts';
import { dropOldRows } from '../state/sqlite/retention.ts';
import { StateFile } from '../state/sqlite/state-file.ts';
import { explained, isBusy, isDamage, isStorageError } from '../state/sqlite/storage-errors.ts';
import { LedgerEngine } from './engine.ts';
import type { LedgerOptions } from './ledger.ts';
import {
  type Answer,
  type Envelope,
  type FromLedger,
  isWritten,
  type PackedReply,
  packReply,
  type Reply,
  type ToLedger,
  unpackCommand,
} from './protocol.ts';

/** How long a batch waits for another writer. Requests that meet a longer lock are refused. */
const LOCK_WAIT_MS = 2_000;
/** A pause between two tries to write to a file that could not be written. */
const RETRY_MS = 100;
/** How long counted refusals may wait for those that come after them. */
const REFUSALS_MS = 100;
/** Between two looks for rows of the journal that have become too old. */
const RETENTION_MS = 600_000;
/** Between two steps while there are more: requests go first. */
const RETENTION_STEP_MS = 50;
/** How many batches are written between two looks at the size of SQLite's log. */
const RUNS_PER_LOOK = 100;
/** How many tries are made at the end, before settlements are left to the next start as open holds. */
const CLOSING_TRIES = 20;

interface Fault {
  readonly message: string;
  /** It does not pass by itself. */
  readonly isDamage: boolean;
}

/** A command, and where its answer goes. */
interface Asked {
  readonly envelope: Envelope;
  readonly port: MessagePort;
}

class LedgerThread {
  /** Of the thread that started this one. */
  readonly #main: MessagePort;
  /** Of all threads that ask. */
  readonly #ports = new Set<MessagePort>();
  readonly #database: Sqlite;
  readonly #engine: LedgerEngine;
  readonly #path: string;
  readonly #stateFile: StateFile;
  readonly #logBound: LogBound;
  /** Bounded by the requests that are open: each asks for one thing at a time, and may note that it was refused. */
  #queue: Asked[] = [];
  #scheduled = false;
  #runs = 0;
  #closing = false;
  #closed = false;
  #closingTries = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #refusalsTimer: NodeJS.Timeout | undefined;
  #retentionTimer: NodeJS.Timeout | undefined;
  /** Why the file cannot be written, for as long as it cannot. */
  #fault: Fault | undefined;

  constructor(port: MessagePort, options: LedgerOptions) {
    this.#main = port;
    this.#path = options.path;
    const { database, created } = openDatabase(options.path, options.durability);
    assertDurability(database, options.durability);
    this.#database = database;
    this.#stateFile = new StateFile(options.path);
    this.#logBound = new LogBound(database);
    this.#engine = new LedgerEngine(database, options, systemClock);
    send(port, { kind: 'ready', summary: this.#engine.recover(created) });
    this.#connect(port);
    this.#dropOldRows();
  }

  /** Drops what has become too old, in small steps, and looks again after a while. */
  #dropOldRows(): void {
    const { journalRetentionMs } = this.#engine;
    let isMore = false;
    if (journalRetentionMs !== undefined && this.#fault === undefined) {
      this.#tryTo(() => {
        isMore = dropOldRows(this.#database, systemClock.wallMs() - journalRetentionMs, this.#lockWaitMs);
      });
    }
    if (this.#fault !== undefined) this.#scheduleRetry();
    clearTimeout(this.#retentionTimer);
    this.#retentionTimer = setTimeout(() => this.#dropOldRows(), isMore ? RETENTION_STEP_MS : RETENTION_MS);
  }

  #connect(port: MessagePort): void {
    this.#ports.add(port);
    port.on('message', (message: ToLedger) => this.#receive(message, port));
    port.once('close', () => this.#ports.delete(port));
    if (this.#fault !== undefined) send(port, { kind: 'storage_fault', message: this.#fault.message });
  }

  #receive(message: ToLedger, port: MessagePort): void {
    if (message.kind === 'connect') return this.#connect(message.port);
    if (message.kind === 'close') this.#closing = true;
    else for (const command of message.commands) this.#queue.push({ envelope: unpackCommand(command), port });
    this.#schedule();
  }

  /** The batch starts once everything that has arrived by now was received. */
  #schedule(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#run();
    });
  }

  /** What nobody asks for again is tried again after a pause. */
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
    if (++this.#runs % RUNS_PER_LOOK === 0 && this.#fault === undefined) this.#tryTo(() => this.#logBound.keep());
    if (this.#closing && (this.#queue.length === 0 || ++this.#closingTries > CLOSING_TRIES)) this.#close();
    else if (this.#fault !== undefined) this.#scheduleRetry();
  }

  #process(batch: readonly Asked[]): void {
    const commands = batch.map(({ envelope }) => envelope.command);
    const writes = commands.some(isWritten);
    try {
      if (writes) this.#stateFile.assertInPlace();
      const answers = this.#engine.process(commands, this.#lockWaitMs);
      if (writes) this.#report(undefined);
      reply(batch, ({ ticket }, index) => ({ ticket, answer: answers[index] as Answer }));
      // Rows may be too old now that were not before.
      if (commands.some(({ kind }) => kind === 'configure')) this.#dropOldRows();
    } catch (error) {
      this.#failClosed(batch, this.#faultOf(error));
    }
  }

  /**
   * Nobody may ask for anything while the gateway says that it is not ready: whether it is again, only a write tells.
   */
  #probe(): void {
    if (this.#fault?.isDamage) return;
    this.#tryTo(() => writeNothing(this.#database, this.#lockWaitMs));
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

  /** Writes what nobody waits for. */
  #tryTo(write: () => void): void {
    try {
      this.#stateFile.assertInPlace();
      write();
      // A write elsewhere in a damaged file tells nothing.
      if (!this.#fault?.isDamage) this.#report(undefined);
    } catch (error) {
      this.#report(this.#faultOf(error));
    }
  }

  /** While a fault lasts nobody waits: requests are refused at once. */
  get #lockWaitMs(): number {
    return this.#fault === undefined ? LOCK_WAIT_MS : 0;
  }

  /** A fault of the disk or of another process in words. Throws what is a fault of the program. */
  #faultOf(error: unknown): Fault {
    if (!isStorageError(error)) throw error;
    // A writer who is met while nobody waits is no fault of its own.
    if (this.#fault !== undefined && isBusy(error)) return this.#fault;
    return { message: (explained(error, this.#path) as Error).message, isDamage: isDamage(error) };
  }

  /** Nothing may be admitted that cannot be written down; what has ended is kept until it can. */
  #failClosed(batch: readonly Asked[], fault: Fault): void {
    this.#report(fault);
    const settlements = batch.filter(({ envelope }) => envelope.command.kind === 'settle');
    const others = batch.filter(({ envelope }) => envelope.command.kind !== 'settle');
    reply(others, ({ ticket }) => ({ ticket, unavailable: fault.message }));
    this.#queue.unshift(...settlements);
  }

  /** Tells when the state of the file changes, and not with every try. */
  #report(fault: Fault | undefined): void {
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
    send(this.#main, { kind: 'closed' });
    this.#database.close();
    for (const port of this.#ports) port.close();
  }
}

function send(port: MessagePort, message: FromLedger): void {
  port.postMessage(message);
}

/** One message to each of those who asked. */
function reply(batch: readonly Asked[], replyTo: (envelope: Envelope, index: number) => Reply): void {
  const byPort = new Map<MessagePort, PackedReply[]>();
  for (const [index, { envelope, port }] of batch.entries()) {
    const packed = packReply(envelope, replyTo(envelope, index));
    const replies = byPort.get(port);
    if (replies === undefined) byPort.set(port, [packed]);
    else replies.push(packed);
  }
  for (const [port, replies] of byPort) send(port, { kind: 'replies', replies });
}

function main(port: MessagePort, options: LedgerOptions): void {
  try {
    new LedgerThread(port, options);
  } catch (error) {
    const told = explained(error, options.path);
    if (!(told instanceof UserError)) throw error;
    send(port, { kind: 'failed', lines: told.lines });
  }
}

if (parentPort !== null) main(parentPort, workerData as LedgerOptions);
