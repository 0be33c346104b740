/** The next process's side of a handover. */
import { Socket } from 'node:net';
import type { Greeting } from '../control/protocol.ts';
import { UserError } from '../core/errors.ts';
import { Port } from '../core/port.ts';
import type { EarlierPort, RunningLedger } from '../ledger/client.ts';
import type { Handover } from '../ledger/handover.ts';
import type { Ask } from '../ledger/protocol.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { Conversation } from './conversation.ts';
import { receiveSockets } from './pass-sockets.ts';
import type { PredecessorCalls, SuccessorCalls } from './protocol.ts';
import { within } from './within.ts';

/** Time limit for each answer of the running process, in milliseconds: its ledger may pause for six seconds. */
const STEP_MS = 30_000;
/** If the process has died, its second connection ends within this time after the first. */
const END_MS = 1_000;
/** Time limit for calls on behalf of operators. */
const CALL_MS = 2_000;

export class Predecessor {
  readonly greeting: Greeting;
  readonly #path: string;
  readonly #conversation: Conversation;
  readonly #port: Port<SuccessorCalls, PredecessorCalls>;
  #lastSnapshots: readonly WorkerSnapshot[] = [];
  /** Ledger ports that represent the ports of the earlier process. */
  readonly #ports = new Map<number, EarlierPort>();
  /** Commands of the earlier process wait for this ledger. */
  readonly #ledger = Promise.withResolvers<RunningLedger>();

  /** Connects to a process after it agreed to hand over. Rejects with a UserError. */
  static async meet(path: string, greeting: Greeting): Promise<Predecessor> {
    const socket = await connected(path);
    return new Predecessor(path, greeting, new Conversation(socket));
  }

  private constructor(path: string, greeting: Greeting, conversation: Conversation) {
    this.#path = path;
    this.greeting = greeting;
    this.#conversation = conversation;
    this.#port = new Port<SuccessorCalls, PredecessorCalls>(conversation, 'the running gateway').serve({
      refused: (lines) => this.#port.end(new UserError(lines)),
      asked: (port, asked) => void this.#ledger.promise.then((ledger) => this.#pass(port, asked, ledger)),
      end: (snapshots) => {
        this.#lastSnapshots = snapshots;
      },
    });
  }

  /** Final metrics of the earlier process; empty before its end. */
  get lastSnapshots(): readonly WorkerSnapshot[] {
    return this.#lastSnapshots;
  }

  /** Resolves when the earlier process has exited. */
  get ended(): Promise<void> {
    return this.#conversation.ended;
  }

  /**
   * Takes over `count` listening sockets. Returns their descriptors, or an empty list if the process has died. Rejects with a
   * UserError.
   */
  async takeSockets(count: number): Promise<number[]> {
    this.#port.tell('sockets', count);
    if (count === 0) return [];
    try {
      return await receiveSockets(await connected(this.#path), count);
    } catch (error) {
      // If the process died, its other connection may end slightly later.
      const isDead = within(END_MS, '', this.ended).then(
        () => true,
        () => false,
      );
      if (await isDead) return [];
      throw error;
    }
  }

  /**
   * Stops the earlier decider and returns its state; undefined if the process has died. Rejects with a UserError if it refuses.
   */
  async takeState(): Promise<Handover | undefined> {
    return this.#step('the running gateway did not hand its state over', this.#port.call('pause'));
  }

  /**
   * Reports that the state is open. Resolves when the earlier process has released the lock or has died. Rejects with a UserError
   * if it continues to decide.
   */
  async confirm(): Promise<void> {
    await this.#step('the running gateway did not let go', this.#port.call('ready'));
  }

  /** Lets the ledger decide for the earlier process, too. */
  connect(ledger: RunningLedger, handover: Handover): void {
    const listed = new Set(handover.ports.flatMap(({ requestIds }) => requestIds));
    const rest = handover.open.map(({ hold }) => hold.requestId).filter((id) => !listed.has(id));
    // Leases without a listed port belong to the earlier process's own threads, and are assigned to port 0, its main thread.
    for (const { port, requestIds } of [{ port: 0, requestIds: rest }, ...handover.ports]) {
      this.#open(ledger, port, requestIds);
    }
    this.#ledger.resolve(ledger);
    void this.ended.then(() => {
      for (const port of this.#ports.values()) port.close();
    });
  }

  /** This process accepts connections. */
  announceServing(): void {
    this.#port.tell('serving');
  }

  /** Announces the shutdown of this process. Resolves when the earlier process has exited, or after the time limit. */
  async stop(milliseconds: number, graceMs: number): Promise<void> {
    this.#port.tell('stop', milliseconds);
    await within(milliseconds + graceMs, '', this.ended).catch(() => {});
    this.#conversation.destroy();
  }

  /** Disconnects without a takeover. */
  leave(): void {
    this.#conversation.destroy();
  }

  /** Snapshots of the earlier process's threads; empty if it has exited or does not answer in time. */
  snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]> {
    return within(CALL_MS, 'no answer', this.#port.call('snapshots', query)).catch(() => []);
  }

  stopRequest(id: string): Promise<boolean> {
    return within(CALL_MS, 'no answer', this.#port.call('stopRequest', id)).catch(() => false);
  }

  #pass(number: number, asked: Ask | undefined, ledger: RunningLedger): void {
    const port = this.#ports.get(number) ?? this.#open(ledger, number, []);
    if (asked !== undefined) return port.ask(asked);
    this.#ports.delete(number);
    port.close();
  }

  #open(ledger: RunningLedger, number: number, requestIds: readonly string[]): EarlierPort {
    const port = ledger.connectEarlier(requestIds, (told) => this.#port.tell('told', number, told));
    this.#ports.set(number, port);
    return port;
  }

  /** Returns undefined if the process has died. */
  async #step<T>(problem: string, answer: Promise<T>): Promise<T | undefined> {
    try {
      return await within(STEP_MS, problem, answer);
    } catch (error) {
      if (this.#conversation.hasEnded && !(error instanceof UserError)) return undefined;
      throw error;
    }
  }
}

/** Connects with a paused socket, so that no data is lost before a reader is attached. */
function connected(path: string): Promise<Socket> {
  const socket = new Socket();
  socket.pause();
  return new Promise((resolve, reject) => {
    socket.once('error', (error) =>
      reject(new UserError(`the running gateway did not wait at ${path}: ${error.message}`)),
    );
    socket.once('connect', () => resolve(socket));
    socket.connect(path);
  });
}
