/**
 * The ledger thread: collects the commands that arrive while it works, and runs them as one batch.
 * A commit makes a batch safe from the end of the process, and lets the next one in. A flush, on the
 * side and one at a time, makes all commits before it safe from a power cut.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { LedgerStore } from '../state/sqlite/ledger-store.ts';
import type { StorageFault } from '../state/storage-fault.ts';
import { LedgerEngine } from './engine.ts';
import type { LedgerOptions, LedgerSettings } from './ledger.ts';
import {
  type Answer,
  type Envelope,
  type FromLedger,
  isFlushedAtOnce,
  isWritten,
  type PackedReply,
  packReply,
  type Reply,
  type ToLedger,
  unpackCommand,
  waitsForFlush,
  waitsForStore,
} from './protocol.ts';

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

/** A command, and the port that its reply goes to. */
interface QueuedCommand {
  readonly envelope: Envelope;
  readonly port: MessagePort;
}

interface DecidedCommand extends QueuedCommand {
  readonly answer: Answer;
}

class LedgerThread {
  /** The port of the main thread. */
  readonly #main: MessagePort;
  /** The ports of all threads that send commands. */
  readonly #ports = new Set<MessagePort>();
  readonly #store: LedgerStore;
  readonly #engine: LedgerEngine;
  /**
   * Bounded by the open requests: each has one command outstanding at a time, and may count one
   * refusal.
   */
  #queue: QueuedCommand[] = [];
  /** Decided and committed, but not to be answered before a flush. */
  #unflushed: DecidedCommand[] = [];
  /** The last commit of which a port is to be told that it is flushed. */
  readonly #flushWaits = new Map<MessagePort, number>();
  /** How many batches were written, how many must be flushed, and how many are. */
  #commits = 0;
  #toFlush = 0;
  #flushed = 0;
  #flushing = false;
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
      this.#flushWaits.delete(port);
    });
    if (this.#fault !== undefined) send(port, { kind: 'storage_fault', message: this.#fault.message });
  }

  #receive(message: ToLedger, port: MessagePort): void {
    if (message.kind === 'connect') return this.#connect(message.port);
    if (message.kind === 'flush') this.#flushFor(port, message.commit);
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
    const isIdle = this.#queue.length === 0 && !this.#flushing;
    if (this.#closing && (isIdle || ++this.#closingAttempts > CLOSING_ATTEMPTS)) this.#close();
    else if (this.#fault !== undefined) this.#scheduleRetry();
    this.#flush();
  }

  #process(batch: readonly QueuedCommand[]): void {
    const commands = batch.map(({ envelope }) => envelope.command);
    const writes = commands.some(isWritten);
    try {
      if (writes) this.#store.assertUsable();
      const answers = this.#engine.process(commands, this.#lockWaitMs);
      if (writes) this.#report(undefined);
      this.#answer(
        batch.map((command, index) => ({ ...command, answer: answers[index] as Answer })),
        writes,
      );
      // The retention may be shorter now.
      if (commands.some(({ kind }) => kind === 'configure')) this.#dropOldRows();
    } catch (error) {
      this.#failClosed(batch, this.#faultOf(error));
    }
  }

  /** Answers what a batch has decided; what must be durable is answered by the next flush. */
  #answer(batch: readonly DecidedCommand[], isCommitted: boolean): void {
    if (!isCommitted || !this.#store.needsFlush) return this.#replyAll(batch);
    this.#commits++;
    const now: DecidedCommand[] = [];
    for (const decided of batch) {
      const { command } = decided.envelope;
      const waits = waitsForFlush(command);
      if (waits) this.#unflushed.push(decided);
      else now.push(decided);
      if (isFlushedAtOnce(command)) this.#flushFor(decided.port, this.#commits);
      if (waits) this.#toFlush = this.#commits;
    }
    this.#replyAll(now);
  }

  /** Has a commit flushed, and tells the port. */
  #flushFor(port: MessagePort, commit: number): void {
    if (commit <= this.#flushed) return this.#tellPort(port);
    this.#flushWaits.set(port, Math.max(commit, this.#flushWaits.get(port) ?? 0));
    this.#toFlush = Math.max(this.#toFlush, commit);
  }

  #tellPort(port: MessagePort): void {
    send(port, { kind: 'replies', replies: [], commit: this.#commits, flushed: this.#flushed });
  }

  /** Flushes what was committed, if somebody waits for it, and answers that. */
  async #flush(): Promise<void> {
    if (this.#flushing || this.#closed || this.#flushed >= this.#toFlush) return;
    this.#flushing = true;
    const commits = this.#commits;
    const waiting = this.#unflushed;
    this.#unflushed = [];
    try {
      await this.#store.flush();
      this.#flushed = commits;
      this.#tellFlushed(waiting);
    } catch (error) {
      this.#unflushed.unshift(...waiting);
      this.#report(this.#faultOf(error));
    }
    this.#flushing = false;
    if (this.#fault === undefined) this.#schedule();
    else this.#scheduleRetry();
  }

  /** Answers what has waited for a flush, and tells the ports that wait for it. */
  #tellFlushed(waiting: readonly DecidedCommand[]): void {
    this.#replyAll(waiting);
    const told = new Set(waiting.map(({ port }) => port));
    for (const [port, commit] of this.#flushWaits) {
      if (!told.has(port)) this.#tellPort(port);
      if (commit <= this.#flushed) this.#flushWaits.delete(port);
    }
  }

  #flushNow(): void {
    this.#store.flushNow();
    this.#flushed = this.#commits;
    this.#tellFlushed(this.#unflushed);
  }

  #replyAll(decided: readonly DecidedCommand[]): void {
    this.#reply(decided, ({ envelope: { ticket }, answer }) => ({ ticket, answer }));
  }

  /** Replies to commands with one message per port, which also says what is flushed. */
  #reply<C extends QueuedCommand>(commands: readonly C[], replyTo: (command: C) => Reply): void {
    const byPort = new Map<MessagePort, PackedReply[]>();
    for (const command of commands) {
      const packed = packReply(command.envelope, replyTo(command));
      const replies = byPort.get(command.port);
      if (replies === undefined) byPort.set(command.port, [packed]);
      else replies.push(packed);
    }
    const [commit, flushed] = [this.#commits, this.#flushed];
    for (const [port, replies] of byPort) send(port, { kind: 'replies', replies, commit, flushed });
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
    this.#reply(others, ({ envelope: { ticket } }) => ({ ticket, unavailable: fault.message }));
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
    this.#tryTo(() => this.#flushNow());
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
