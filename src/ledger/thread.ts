/**
 * The ledger thread: collects the commands that arrive while it works, and runs them as one batch.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { UserError } from '../core/errors.ts';
import type { StorageFault } from '../state/storage-fault.ts';
import type { Engine, EngineEvents } from './engine.ts';
import type { LedgerOptions, LedgerSummary } from './ledger.ts';
import { type FromLedger, isWritten, type ToLedger, unpackCommand, waitsForStore } from './protocol.ts';
import { type QueuedCommand, Responder } from './responder.ts';

/** How long a batch waits for another writer. Requests that meet a longer lock fail. */
const LOCK_WAIT_MS = 2_000;
/** The pause between two attempts at a state that cannot be written. */
const RETRY_MS = 100;
/** How long counted refusals wait, so that later ones are written with them. */
const REFUSALS_MS = 100;
/** The time between two searches for journal rows past their retention. */
const RETENTION_MS = 600_000;
/** The pause between two steps of a search that found more. Requests come first. */
const RETENTION_STEP_MS = 50;
/**
 * The number of attempts when closing. After that, unsettled requests stay open and the next start
 * settles them.
 */
const CLOSING_ATTEMPTS = 20;

/** What the thread does besides its batches, one at a time and between two of them. */
type Chore = 'refusals' | 'retention';

class LedgerThread {
  /** The port of the main thread. */
  readonly #main: MessagePort;
  /** The ports of all threads that send commands. */
  readonly #ports = new Set<MessagePort>();
  readonly #engine: Engine;
  readonly #responder: Responder;
  /**
   * Bounded by the open requests: each has one command outstanding at a time, and may count one
   * refusal.
   */
  #queue: QueuedCommand[] = [];
  /** Due now. */
  readonly #chores = new Set<Chore>();
  #isScheduled = false;
  #isRunning = false;
  #closing = false;
  #closed = false;
  #closingAttempts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  #refusalsTimer: NodeJS.Timeout | undefined;
  #retentionTimer: NodeJS.Timeout | undefined;
  /** Why the state cannot be written; undefined while it can. */
  #fault: StorageFault | undefined;

  constructor(port: MessagePort, engine: Engine) {
    this.#main = port;
    this.#engine = engine;
    this.#responder = new Responder(engine);
  }

  /** Begins to serve. */
  start(summary: LedgerSummary): void {
    send(this.#main, { kind: 'ready', summary });
    this.#connect(this.#main);
    this.#do('retention');
  }

  /** To be called when the engine itself has noticed a fault. */
  noticeFault(fault: StorageFault): void {
    this.#report(fault);
    this.#scheduleRetry();
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
    if (this.#isScheduled || this.#isRunning || this.#closed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      void this.#run();
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

  /** A chore becomes due. */
  #do(chore: Chore): void {
    this.#chores.add(chore);
    this.#schedule();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    const batch = this.#queue.splice(0, this.#engine.maxBatch);
    if (batch.length > 0) await this.#process(batch);
    else if (this.#fault !== undefined) await this.#probe();
    for (const chore of this.#chores) await this.#runChore(chore);
    if (this.#engine.hasRefusals) this.#writeRefusalsSoon();
    if (this.#fault === undefined) await this.#tryTo(() => this.#engine.maintain());
    this.#isRunning = false;
    const isIdle = this.#queue.length === 0 && !this.#responder.isBehind;
    if (this.#closing && (isIdle || ++this.#closingAttempts > CLOSING_ATTEMPTS)) return this.#close();
    if (this.#fault !== undefined) this.#scheduleRetry();
    else if (this.#queue.length > 0) this.#schedule();
    void this.#flush();
  }

  async #process(batch: readonly QueuedCommand[]): Promise<void> {
    const commands = batch.map(({ envelope }) => envelope.command);
    const writes = commands.some(isWritten);
    try {
      const answers = await this.#engine.process(commands, this.#lockWaitMs);
      if (writes) this.#report(this.#engine.fault);
      this.#responder.answer(
        batch.map((command, index) => ({ ...command, answer: answers[index] })),
        writes,
      );
      // The retention may be shorter now.
      if (commands.some(({ kind }) => kind === 'configure')) this.#chores.add('retention');
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
      const fault = this.#faultOf(error);
      const waiting = this.#responder.waiting;
      if (this.#engine.isLostWithFlush(waiting.map(({ envelope }) => envelope.command))) {
        this.#failClosed(this.#responder.withdraw(), fault);
      } else {
        this.#report(fault);
      }
      return this.#scheduleRetry();
    }
    if (this.#closing) this.#schedule();
  }

  /**
   * While the gateway reports that it is not ready, requests may stop coming. Only a write shows
   * that it is again.
   */
  async #probe(): Promise<void> {
    if (this.#fault?.kind === 'damage') return;
    await this.#tryTo(() => this.#engine.probe(this.#lockWaitMs));
  }

  #writeRefusalsSoon(): void {
    this.#refusalsTimer ??= setTimeout(() => {
      this.#refusalsTimer = undefined;
      this.#do('refusals');
    }, REFUSALS_MS);
  }

  async #runChore(chore: Chore): Promise<void> {
    this.#chores.delete(chore);
    if (chore === 'refusals') await this.#writeRefusals();
    else await this.#dropOldRows();
  }

  async #writeRefusals(): Promise<void> {
    if (this.#engine.hasRefusals) await this.#tryTo(() => this.#engine.writeRefusals(this.#lockWaitMs));
  }

  /** Drops journal rows past their retention in small steps, and searches again after a while. */
  async #dropOldRows(): Promise<void> {
    let isMore = false;
    if (this.#engine.journalRetentionMs !== undefined && this.#fault === undefined) {
      await this.#tryTo(async () => {
        isMore = await this.#engine.dropOldRows(this.#lockWaitMs);
      });
    }
    clearTimeout(this.#retentionTimer);
    if (this.#closed) return;
    this.#retentionTimer = setTimeout(() => this.#do('retention'), isMore ? RETENTION_STEP_MS : RETENTION_MS);
  }

  /** Writes something that no command waits for, and reports a storage fault. */
  async #tryTo(write: () => Promise<void>): Promise<void> {
    try {
      await write();
      // In a damaged file, a write to another page proves nothing.
      if (this.#fault?.kind !== 'damage') this.#report(this.#engine.fault);
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
    const fault = this.#engine.faultOf(error);
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

  async #close(): Promise<void> {
    clearTimeout(this.#retryTimer);
    clearTimeout(this.#refusalsTimer);
    clearTimeout(this.#retentionTimer);
    await this.#writeRefusals();
    await this.#tryTo(() => this.#responder.flush());
    this.#closed = true;
    await this.#tryTo(() => this.#engine.close());
    send(this.#main, { kind: 'closed' });
    for (const port of this.#ports) port.close();
  }
}

function send(port: MessagePort, message: FromLedger): void {
  port.postMessage(message);
}

/** Opens the state. Only what it needs is loaded. */
async function open(options: LedgerOptions, events: EngineEvents): Promise<Engine> {
  const { state } = options;
  if (state.kind === 'file') return (await import('./local/local-engine.ts')).openLocalEngine(state.path, options);
  return (await import('./shared/shared-engine.ts')).openSharedEngine(state.address, state.node, options, events);
}

async function main(port: MessagePort, options: LedgerOptions): Promise<void> {
  let thread: LedgerThread | undefined;
  let engine: Engine | undefined;
  try {
    engine = await open(options, {
      onFault: (fault) => thread?.noticeFault(fault),
      onStops: (requestIds) => send(port, { kind: 'stops', requestIds }),
      onDeaths: (names, requests) => send(port, { kind: 'deaths', names, requests }),
    });
    const summary = await engine.recover();
    thread = new LedgerThread(port, engine);
    thread.start(summary);
  } catch (error) {
    const fault = engine?.faultOf(error);
    if (fault !== undefined) return send(port, { kind: 'failed', lines: [fault.message] });
    if (!(error instanceof UserError)) throw error;
    send(port, { kind: 'failed', lines: error.lines });
  }
}

if (parentPort !== null) void main(parentPort, workerData as LedgerOptions);
