/** What the ledger does in its thread: it runs the commands that arrive while it works as one batch. */
import { setTimeout as pause } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import type { Channel } from '../core/channel.ts';
import { UserError } from '../core/errors.ts';
import type { StorageFault } from '../state/storage-fault.ts';
import { Chores } from './chores.ts';
import type { Engine, Eventual } from './engine.ts';
import { Forwarder } from './forwarder.ts';
import type { Handover } from './handover.ts';
import { InheritedRequests } from './inherited.ts';
import { unpackCommand } from './packing.ts';
import {
  type Ask,
  type ClientPort,
  type Command,
  type CommandPort,
  isWritten,
  type MainCalls,
  type QueuedCommand,
  type Told,
  waitsForStore,
} from './protocol.ts';
import { RemoteClient } from './remote-client.ts';
import { Responder } from './responder.ts';

/** How long a batch waits for another writer. Requests that meet a longer lock fail. */
const LOCK_WAIT_MS = 2_000;
/** The pause between two attempts at the lock. Meanwhile the thread does what else it has to do. */
const LOCK_RETRY_MS = 1;
/** How long the engine itself may wait for the lock, which would block the thread. */
const AT_ONCE_MS = 0;
/** The pause between two attempts at a state that cannot be written. */
const RETRY_MS = 100;
/** The number of attempts when closing. What is unsettled then is left to the next start. */
const CLOSING_ATTEMPTS = 20;

/** Of commands that the ledger gives itself. The main thread ignores the answers. */
const NO_TICKET = 0;

/** The part of the main thread that the ledger reports to. */
export type MainEvents = Pick<MainCalls, 'orphans' | 'forwarded'>;

/** What a port runs on. */
export interface ClosableChannel extends Channel {
  close(): void;
}

export class LedgerThread implements CommandPort {
  readonly #main: MainEvents;
  #mainClient!: ClientPort;
  /** The ports of all clients, and what they run on; undefined for a client in this thread. */
  readonly #ports = new Map<ClientPort, ClosableChannel | undefined>();
  readonly #engine: Engine;
  readonly #die: (error: Error) => void;
  readonly #responder: Responder;
  readonly #inherited = new InheritedRequests();
  readonly #forwarder: Forwarder;
  /**
   * Bounded by the open requests: each has one command outstanding at a time, and may count one
   * refusal.
   */
  #queue: QueuedCommand[] = [];
  readonly #chores: Chores;
  #isScheduled = false;
  #isRunning = false;
  #handingOver: PromiseWithResolvers<Handover> | undefined;
  /** While the next process takes over. */
  #isPaused = false;
  #flushing: Promise<void> | undefined;
  #closing = false;
  #closed = false;
  readonly #end = Promise.withResolvers<void>();
  #closingAttempts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** Why the state cannot be written; undefined while it can. */
  #fault: StorageFault | undefined;

  /** `die` gets an internal error; nothing is decided after it. `commits` were written by an earlier process. */
  constructor(main: MainEvents, engine: Engine, die: (error: Error) => void, commits = 0) {
    this.#main = main;
    this.#engine = engine;
    this.#die = (error) => {
      this.#stopTimers();
      // The state stays as it is: there is nothing left to close.
      this.#end.resolve();
      die(error);
    };
    this.#responder = new Responder(engine, commits);
    this.#forwarder = new Forwarder(main);
    this.#chores = new Chores(engine, {
      onDue: () => this.#schedule(),
      tryTo: (write) => this.#tryTo(() => write(AT_ONCE_MS)),
      isFaulty: () => this.#fault !== undefined,
    });
  }

  /** Begins to serve. `main`: the client of the main thread. `parent`: what that runs on, if it is another thread. */
  start(main: ClientPort, parent?: ClosableChannel): void {
    this.#mainClient = main;
    this.#add(main, parent);
    this.#chores.add('retention');
  }

  /** To be called when the engine itself has noticed a fault. */
  noticeFault(fault: StorageFault): void {
    this.#report(fault);
    this.#scheduleRetry();
  }

  take(ticket: number, command: Command, port: ClientPort): void {
    const queued = { ticket, command, port };
    if (this.#forwarder.isOpen) return this.#forwarder.take(queued);
    this.#queue.push(queued);
    this.#schedule();
  }

  flushFor(port: ClientPort, commit: number): void {
    if (this.#forwarder.isOpen) return this.#forwarder.ask(port, ['flush', commit]);
    this.#responder.flushFor(port, commit);
    this.#schedule();
  }

  /** Takes what a client in another thread asks. */
  ask(asked: Ask, port: ClientPort): void {
    if (this.#forwarder.isOpen) return this.#forwarder.ask(port, asked);
    if (asked[0] === 'flush') return this.flushFor(port, asked[1]);
    for (const packed of asked[1]) this.take(packed[0], unpackCommand(packed), port);
  }

  /**
   * Another thread will send commands through this channel. If it stands for an earlier process, these
   * requests are its own, and what is open when the channel closes is charged as held.
   */
  connect(channel: MessagePort, inherited?: readonly string[]): void {
    const client = RemoteClient.at(channel, (asked) => this.ask(asked, client));
    this.#add(client, channel, inherited);
  }

  handOver(): Promise<Handover> {
    this.#handingOver = Promise.withResolvers<Handover>();
    this.#schedule();
    return this.#handingOver.promise;
  }

  keep(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  forward(): void {
    void this.#startForwarding();
  }

  tell(port: number, told: Told): void {
    this.#forwarder.tell(port, told);
  }

  close(): Promise<void> {
    this.#closing = true;
    this.#schedule();
    return this.#end.promise;
  }

  #add(port: ClientPort, channel: ClosableChannel | undefined, inherited?: readonly string[]): void {
    this.#ports.set(port, channel);
    this.#forwarder.add(port);
    if (inherited !== undefined) this.#inherited.add(port, inherited);
    channel?.on('close', () => {
      this.#ports.delete(port);
      this.#responder.forget(port);
      this.#inherited.close(port);
      this.#forwarder.end(port);
      this.#schedule();
    });
    if (this.#fault !== undefined) port.tell('storage_fault', this.#fault.message);
  }

  /** Starts a batch after the messages that have already arrived are received. */
  #schedule(): void {
    if (this.#isScheduled || this.#isRunning || this.#isPaused || this.#closed) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#run().catch(this.#die);
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

  async #run(): Promise<void> {
    if (this.#forwarder.isOpen) return this.#close();
    this.#isRunning = true;
    if (this.#handingOver !== undefined) await this.#handOver(this.#handingOver);
    if (!this.#isPaused) await this.#work();
    this.#isRunning = false;
    if (this.#isPaused) return;
    const isIdle = this.#queue.length === 0 && !this.#responder.isBehind;
    if (this.#closing && (isIdle || ++this.#closingAttempts > CLOSING_ATTEMPTS)) return this.#close();
    if (this.#fault !== undefined) this.#scheduleRetry();
    else if (this.#queue.length > 0) this.#schedule();
    // A flush that runs goes on for as long as somebody waits for it.
    if (this.#responder.shouldFlush) this.#flushing = this.#flush().catch(this.#die);
  }

  async #work(): Promise<void> {
    const batch = this.#queue.splice(0, this.#engine.maxBatch);
    if (batch.length > 0) for (const part of this.#partsOf(batch)) await this.#process(part);
    else if (this.#fault !== undefined) await this.#probe();
    await this.#chores.run();
    if (this.#fault === undefined) await this.#tryTo(() => this.#engine.maintain());
    this.#chargeOrphans();
  }

  /** While nothing is admitted, what ends requests goes alone: it does not fail with what comes, however much that is. */
  #partsOf(batch: readonly QueuedCommand[]): readonly (readonly QueuedCommand[])[] {
    if (this.#engine.fault === undefined) return [batch];
    return byWait(batch).filter(({ length }) => length > 0);
  }

  /** What an earlier process has left open, once all is decided that it has sent. */
  #chargeOrphans(): void {
    const orphans = this.#inherited.takeOrphans((port) => this.#queue.some((queued) => queued.port === port));
    if (orphans.length === 0) return;
    for (const command of orphans) this.#queue.push({ ticket: NO_TICKET, command, port: this.#mainClient });
    const charged = orphans.filter(({ kind }) => kind === 'charge_held');
    if (charged.length > 0) this.#main.orphans(charged.length);
  }

  /** Ends all that was begun, and decides nothing until it is known who does. */
  async #handOver({ resolve, reject }: PromiseWithResolvers<Handover>): Promise<void> {
    this.#handingOver = undefined;
    try {
      await this.#flushing;
      await this.#chores.writeRefusals();
      await this.#tryTo(() => this.#responder.flush());
      if (this.#fault !== undefined) throw new UserError(this.#fault.message);
      const ports = this.#inherited.handOver((port) => this.#forwarder.numberOf(port));
      resolve({ ...this.#engine.handOver(), commits: this.#responder.commits, ports });
      this.#isPaused = true;
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      reject(error);
    }
  }

  async #startForwarding(): Promise<void> {
    this.#forwarder.open(this.#queue.splice(0));
    for (const port of this.#inherited.closed) this.#forwarder.end(port);
    this.#stopTimers();
    // All was flushed before the handover, and there is no other way to say now that it was not.
    await this.#engine.close().catch(() => {});
    this.#isPaused = false;
  }

  async #process(batch: readonly QueuedCommand[], deadlineMs = performance.now() + LOCK_WAIT_MS): Promise<void> {
    const commands = batch.map(({ command }) => command);
    const writes = commands.some(isWritten);
    try {
      const answers = await this.#engine.process(commands, AT_ONCE_MS);
      if (writes) this.#report(this.#engine.fault);
      const decided = batch.map(({ ticket, command, port }, at) => ({ ticket, command, port, answer: answers[at] }));
      this.#inherited.follow(decided);
      this.#responder.answer(decided, writes);
      // The retention may be shorter now.
      if (commands.some(({ kind }) => kind === 'configure')) this.#chores.add('retention');
    } catch (error) {
      if (!this.#isLockedOut(error, deadlineMs)) return this.#failClosed(batch, this.#faultOf(error));
      await pause(LOCK_RETRY_MS);
      await this.#process(this.#withoutCounted(batch), deadlineMs);
    }
  }

  /** A refusal is counted even if its batch could not be written. */
  #withoutCounted(batch: readonly QueuedCommand[]): readonly QueuedCommand[] {
    const isCounted = ({ command }: QueuedCommand) => command.kind === 'count_refusal';
    const counted = batch.filter(isCounted);
    this.#responder.answer(
      counted.map((queued) => ({ ...queued, answer: undefined })),
      false,
    );
    return counted.length === 0 ? batch : batch.filter((queued) => !isCounted(queued));
  }

  /** Whether another writer is in the way, and may end in time. During a storage fault nothing waits: requests fail at once. */
  #isLockedOut(error: unknown, deadlineMs: number): boolean {
    if (this.#fault !== undefined || performance.now() >= deadlineMs) return false;
    return this.#engine.faultOf(error)?.kind === 'busy';
  }

  /** Flushes for as long as somebody waits for it. */
  async #flush(): Promise<void> {
    try {
      while (this.#responder.shouldFlush && !this.#closed) await this.#responder.flush();
    } catch (error) {
      const fault = this.#faultOf(error);
      const waiting = this.#responder.waiting;
      if (this.#engine.isLostWithFlush(waiting.map(({ command }) => command))) {
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
    await this.#tryTo(() => this.#engine.probe(AT_ONCE_MS));
  }

  /** Writes something that no command waits for, and reports a storage fault. */
  async #tryTo(write: () => Eventual<void>, deadlineMs = performance.now() + LOCK_WAIT_MS): Promise<void> {
    try {
      await write();
      // In a damaged file, a write to another page proves nothing.
      if (this.#fault?.kind !== 'damage') this.#report(this.#engine.fault);
    } catch (error) {
      if (!this.#isLockedOut(error, deadlineMs)) return this.#report(this.#faultOf(error));
      await pause(LOCK_RETRY_MS);
      await this.#tryTo(write, deadlineMs);
    }
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
    const [waiting, others] = byWait(batch);
    const answer = { unavailable: fault.message };
    this.#responder.answer(
      others.map((queued) => ({ ...queued, answer })),
      false,
    );
    this.#queue.unshift(...waiting);
  }

  /**
   * Notifies all threads when a storage fault begins, changes or ends, but not of every attempt.
   */
  #report(fault: StorageFault | undefined): void {
    const known = this.#fault?.message;
    this.#fault = fault;
    if (fault?.message === known) return;
    const told: Told = fault === undefined ? ['storage_recovered'] : ['storage_fault', fault.message];
    for (const port of this.#ports.keys()) port.tell(...told);
  }

  async #close(): Promise<void> {
    if (!this.#closing) return;
    // What is sent from now on, a flush for one, would start another batch, whose end closes the state once more.
    this.#isRunning = true;
    this.#stopTimers();
    if (!this.#forwarder.isOpen) {
      await this.#chores.writeRefusals();
      await this.#tryTo(() => this.#responder.flush());
      this.#closed = true;
      await this.#tryTo(() => this.#engine.close());
    }
    this.#closed = true;
    this.#end.resolve();
    // After that is said to the main thread, whose port is among them.
    setImmediate(() => {
      for (const channel of this.#ports.values()) channel?.close();
    });
  }

  #stopTimers(): void {
    clearTimeout(this.#retryTimer);
    this.#chores.stop();
  }
}

/** What requests in flight need, which waits until it can be written, and all else. */
function byWait(batch: readonly QueuedCommand[]): readonly [waiting: QueuedCommand[], others: QueuedCommand[]] {
  const waits = ({ command }: QueuedCommand) => waitsForStore(command);
  return [batch.filter(waits), batch.filter((queued) => !waits(queued))];
}
