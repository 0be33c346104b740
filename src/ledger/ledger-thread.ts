/** The loop of the ledger thread. Commands that arrive during a batch form the next one. */
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

/** Maximum time that a batch waits for another writer. Its requests then fail. */
const LOCK_WAIT_MS = 2_000;
/** Pause between two attempts to get the lock. The thread remains free for other work. */
const LOCK_RETRY_MS = 1;
/** The lock timeout of the engine. Zero, because waiting there would block the thread. */
const AT_ONCE_MS = 0;
/** Pause between two attempts to write the state during a fault. */
const RETRY_MS = 100;
/** Maximum attempts to settle when closing. The next start charges requests still open as held. */
const CLOSING_ATTEMPTS = 20;

/** The ticket of commands sent by the ledger itself, whose answers the main thread ignores. */
const NO_TICKET = 0;

/** The events reported to the main thread. */
export type MainEvents = Pick<MainCalls, 'orphans' | 'forwarded'>;

/** The channel of a port. */
export interface ClosableChannel extends Channel {
  close(): void;
}

export class LedgerThread implements CommandPort {
  readonly #main: MainEvents;
  #mainClient!: ClientPort;
  /** The ports of all clients with their channels; undefined for a client in this thread. */
  readonly #ports = new Map<ClientPort, ClosableChannel | undefined>();
  readonly #engine: Engine;
  readonly #die: (error: Error) => void;
  readonly #responder: Responder;
  readonly #inherited = new InheritedRequests();
  readonly #forwarder: Forwarder;
  /** Bounded by the open requests: each has one command outstanding at a time, and may count one refusal. */
  #queue: QueuedCommand[] = [];
  readonly #chores: Chores;
  #isScheduled = false;
  #isRunning = false;
  #handingOver: PromiseWithResolvers<Handover> | undefined;
  /** Set while the next process takes over. */
  #isPaused = false;
  #flushing: Promise<void> | undefined;
  #closing = false;
  #closed = false;
  readonly #end = Promise.withResolvers<void>();
  #closingAttempts = 0;
  #retryTimer: NodeJS.Timeout | undefined;
  /** The reason why the state cannot be written; undefined while it can. */
  #fault: StorageFault | undefined;

  /**
   * `die` receives an internal error, after which the ledger decides no command. `commits`: the number of commits by an
   * earlier process.
   */
  constructor(main: MainEvents, engine: Engine, die: (error: Error) => void, commits = 0) {
    this.#main = main;
    this.#engine = engine;
    this.#die = (error) => {
      this.#stopTimers();
      // After an internal error, the state is left as it is, without closing it.
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

  /** Starts serving. `main`: the client of the main thread. `parent`: its channel, if it runs in another thread. */
  start(main: ClientPort, parent?: ClosableChannel): void {
    this.#mainClient = main;
    this.#add(main, parent);
    this.#chores.add('retention');
  }

  /** Called when the engine has detected a fault itself. */
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

  /** Handles a message from a client in another thread. */
  ask(asked: Ask, port: ClientPort): void {
    if (this.#forwarder.isOpen) return this.#forwarder.ask(port, asked);
    if (asked[0] === 'flush') return this.flushFor(port, asked[1]);
    for (const packed of asked[1]) this.take(packed[0], unpackCommand(packed), port);
  }

  /**
   * Connects another thread through this channel. If it represents an earlier process, `inherited` contains its open
   * requests; requests still open when the channel closes are charged as held.
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

  /** Schedules a batch, to start after all messages already received are queued. */
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
    // A running flush loops for as long as a client waits for one.
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

  /**
   * While admission is closed, settlements and growths commit in a batch of their own, so that a failing admission
   * cannot fail them.
   */
  #partsOf(batch: readonly QueuedCommand[]): readonly (readonly QueuedCommand[])[] {
    if (this.#engine.fault === undefined) return [batch];
    return byWait(batch).filter(({ length }) => length > 0);
  }

  /** Charges the open requests of ended processes as held, once all their commands are decided. */
  #chargeOrphans(): void {
    const orphans = this.#inherited.takeOrphans((port) => this.#queue.some((queued) => queued.port === port));
    if (orphans.length === 0) return;
    for (const command of orphans) this.#queue.push({ ticket: NO_TICKET, command, port: this.#mainClient });
    const charged = orphans.filter(({ kind }) => kind === 'charge_held');
    if (charged.length > 0) this.#main.orphans(charged.length);
  }

  /** Completes pending work and stops deciding, until the outcome of the handover is known. */
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
    // Every commit was flushed before the handover. An error here could not be reported to any client.
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
      // The new settings may shorten the retention.
      if (commands.some(({ kind }) => kind === 'configure')) this.#chores.add('retention');
    } catch (error) {
      if (!this.#isLockedOut(error, deadlineMs)) return this.#failClosed(batch, this.#faultOf(error));
      await pause(LOCK_RETRY_MS);
      await this.#process(this.#withoutCounted(batch), deadlineMs);
    }
  }

  /** Removes refusals from the batch to repeat: the engine has already counted them, although the batch failed. */
  #withoutCounted(batch: readonly QueuedCommand[]): readonly QueuedCommand[] {
    const isCounted = ({ command }: QueuedCommand) => command.kind === 'count_refusal';
    const counted = batch.filter(isCounted);
    this.#responder.answer(
      counted.map((queued) => ({ ...queued, answer: undefined })),
      false,
    );
    return counted.length === 0 ? batch : batch.filter((queued) => !isCounted(queued));
  }

  /**
   * Whether to retry, because another writer holds the lock and may release it in time. During a storage fault requests
   * fail at once.
   */
  #isLockedOut(error: unknown, deadlineMs: number): boolean {
    if (this.#fault !== undefined || performance.now() >= deadlineMs) return false;
    return this.#engine.faultOf(error)?.kind === 'busy';
  }

  /** Flushes for as long as a client waits for it. */
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
   * Tests whether the state can be written again. While the gateway reports that it is not ready, no requests may
   * arrive whose writes would show it.
   */
  async #probe(): Promise<void> {
    if (this.#fault?.kind === 'damage') return;
    await this.#tryTo(() => this.#engine.probe(AT_ONCE_MS));
  }

  /** Runs a write without a waiting command, and reports a storage fault. */
  async #tryTo(write: () => Eventual<void>, deadlineMs = performance.now() + LOCK_WAIT_MS): Promise<void> {
    try {
      await write();
      // In a damaged file, a successful write to another page does not prove that the fault is gone.
      if (this.#fault?.kind !== 'damage') this.#report(this.#engine.fault);
    } catch (error) {
      if (!this.#isLockedOut(error, deadlineMs)) return this.#report(this.#faultOf(error));
      await pause(LOCK_RETRY_MS);
      await this.#tryTo(write, deadlineMs);
    }
  }

  /** Returns the storage fault of an error. Rethrows an internal error, which ends the thread. */
  #faultOf(error: unknown): StorageFault {
    const fault = this.#engine.faultOf(error);
    if (fault === undefined) throw error;
    // During a fault, locks are not waited for, so a busy lock is not a new fault.
    return this.#fault !== undefined && fault.kind === 'busy' ? this.#fault : fault;
  }

  /**
   * Reports the fault. Returns the commands of open requests to the queue until they can be written, and fails all
   * others, such as admissions.
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

  /** Notifies all threads when a storage fault begins, changes or ends, but not on every attempt. */
  #report(fault: StorageFault | undefined): void {
    const known = this.#fault?.message;
    this.#fault = fault;
    if (fault?.message === known) return;
    const told: Told = fault === undefined ? ['storage_recovered'] : ['storage_fault', fault.message];
    for (const port of this.#ports.keys()) port.tell(...told);
  }

  async #close(): Promise<void> {
    if (!this.#closing) return;
    // Later messages, such as a request for a flush, must not start another batch, which would close the state a second
    // time.
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
    // Deferred, so that the main thread, whose port is closed as well, receives the end first.
    setImmediate(() => {
      for (const channel of this.#ports.values()) channel?.close();
    });
  }

  #stopTimers(): void {
    clearTimeout(this.#retryTimer);
    this.#chores.stop();
  }
}

/** Splits a batch into the commands of open requests, which wait for the store, and the others. */
function byWait(batch: readonly QueuedCommand[]): readonly [waiting: QueuedCommand[], others: QueuedCommand[]] {
  const waits = ({ command }: QueuedCommand) => waitsForStore(command);
  return [batch.filter(waits), batch.filter((queued) => !waits(queued))];
}
