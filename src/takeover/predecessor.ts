/** The process that served before, as the one sees it that takes over from it. */
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

/** How long the running process may take to answer, in milliseconds: its ledger may pause for six seconds. */
const STEP_MS = 30_000;
/** How long after one connection has ended the other one ends, if the process is dead. */
const END_MS = 1_000;
/** How long a snapshot may take that is shown to an operator. */
const CALL_MS = 2_000;

export class Predecessor {
  readonly greeting: Greeting;
  readonly #path: string;
  readonly #conversation: Conversation;
  readonly #port: Port<SuccessorCalls, PredecessorCalls>;
  #lastSnapshots: readonly WorkerSnapshot[] = [];
  /** Ports of the ledger that stand for those of the earlier process. */
  readonly #ports = new Map<number, EarlierPort>();
  /** What it asks before there is a ledger that decides waits for that. */
  readonly #ledger = Promise.withResolvers<RunningLedger>();

  /** Connects to a process that has agreed to hand over. Rejects with a UserError. */
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

  /** What it has counted for metrics, once it has ended. */
  get lastSnapshots(): readonly WorkerSnapshot[] {
    return this.#lastSnapshots;
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    return this.#conversation.ended;
  }

  /**
   * Takes so many listening sockets over. Returns their descriptors; none if the process has died.
   * Rejects with a UserError.
   */
  async takeSockets(count: number): Promise<number[]> {
    this.#port.tell('sockets', count);
    if (count === 0) return [];
    try {
      return await receiveSockets(await connected(this.#path), count);
    } catch (error) {
      // The end of one connection may be seen before that of the other.
      const isDead = within(END_MS, '', this.ended).then(
        () => true,
        () => false,
      );
      if (await isDead) return [];
      throw error;
    }
  }

  /**
   * Has the process decide nothing more. Resolves with what its ledger hands over; undefined if it has
   * died. Rejects with a UserError if it refuses.
   */
  async takeState(): Promise<Handover | undefined> {
    return this.#step('the running gateway did not hand its state over', this.#port.call('pause'));
  }

  /**
   * The state is open. Resolves once the earlier process decides nothing more and gives up the lock, or has died. Rejects
   * with a UserError if it goes on.
   */
  async confirm(): Promise<void> {
    await this.#step('the running gateway did not let go', this.#port.call('ready'));
  }

  /** Has the ledger decide for the earlier process as well. */
  connect(ledger: RunningLedger, handover: Handover): void {
    const listed = new Set(handover.ports.flatMap(({ requestIds }) => requestIds));
    const rest = handover.open.map(({ hold }) => hold.requestId).filter((id) => !listed.has(id));
    // What its own threads have open belongs to the first of its ports, that of its main thread.
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

  /** This process shuts down. Resolves when the earlier one has ended, or after a while. */
  async stop(milliseconds: number, graceMs: number): Promise<void> {
    this.#port.tell('stop', milliseconds);
    await within(milliseconds + graceMs, '', this.ended).catch(() => {});
    this.#conversation.destroy();
  }

  /** Nothing was taken over. */
  leave(): void {
    this.#conversation.destroy();
  }

  /** Of its threads; none if it has ended or does not answer. */
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

  /** Undefined if the conversation ends first: then there is nobody to share the state with. */
  async #step<T>(problem: string, answer: Promise<T>): Promise<T | undefined> {
    try {
      return await within(STEP_MS, problem, answer);
    } catch (error) {
      if (this.#conversation.hasEnded && !(error instanceof UserError)) return undefined;
      throw error;
    }
  }
}

/** Paused, so that nothing is read before it is known who reads. */
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
