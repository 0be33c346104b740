/** The next process, as the one sees it that hands over to it. */
import type { Socket } from 'node:net';
import { UserError } from '../core/errors.ts';
import { Port } from '../core/port.ts';
import type { RunningLedger } from '../ledger/client.ts';
import type { Handover } from '../ledger/handover.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { Conversation } from './conversation.ts';
import type { Meeting } from './meeting.ts';
import { type ListeningSocket, sendSockets } from './pass-sockets.ts';
import type { PredecessorCalls, SuccessorCalls } from './protocol.ts';
import { within } from './within.ts';

/** How long the next process may take for each of its steps, in milliseconds. It loads the program meanwhile. */
const STEP_MS = 30_000;
/**
 * How long it may take to open the state, in milliseconds: nobody decides meanwhile, and requests wait. It takes some
 * tens, and with 100,000 busy keys a second.
 */
const PAUSE_MS = 3_000;

/** What a gateway hands over, and how. */
export interface HandingOver {
  readonly ledger: RunningLedger;
  sockets(): Promise<readonly ListeningSocket[]>;
  /** Gives the lock of the state up, for the next process. */
  unlock(): void;
  /** Of all threads that have requests in flight, those of an earlier process included. */
  snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]>;
  stopRequest(id: string): Promise<boolean>;
}

export interface SuccessorEvents {
  /** It decides from now on. */
  onDecided(): void;
  /** It accepts connections. */
  onServing(): void;
  /** It has ended before this process. */
  onLost(): void;
  /** It shuts down, and this process is to end within so many milliseconds. */
  onStop(milliseconds: number): void;
}

/** The next process until it decides: what it has asked for, and what it waits for. */
class Next {
  readonly conversation: Conversation;
  readonly port: Port<PredecessorCalls, SuccessorCalls>;
  readonly sockets = Promise.withResolvers<number>();
  readonly pause = Promise.withResolvers<void>();
  readonly handover = Promise.withResolvers<Handover>();
  readonly ready = Promise.withResolvers<void>();
  readonly go = Promise.withResolvers<void>();

  constructor(socket: Socket) {
    this.conversation = new Conversation(socket);
    this.port = new Port<PredecessorCalls, SuccessorCalls>(this.conversation, 'the next process').serve({
      sockets: this.sockets.resolve,
      pause: () => {
        this.pause.resolve();
        return this.handover.promise;
      },
      ready: () => {
        this.ready.resolve();
        return this.go.promise;
      },
    });
  }

  /** Waits until it has asked for something. Rejects with a UserError if that takes longer, or it ends. */
  step<T>({ promise }: PromiseWithResolvers<T>, milliseconds: number, problem: string): Promise<T> {
    const ended = this.conversation.ended.then(() => {
      throw new UserError(`${problem}: it has ended`);
    });
    return within(milliseconds, problem, Promise.race([promise, ended]));
  }

  /** It is not to decide. Only the first reason counts. */
  refuse(lines: readonly string[]): void {
    this.port.tell('refused', lines);
    this.conversation.end();
  }
}

export class Successor {
  readonly #next: Next;
  #isEnding = false;

  /**
   * Hands over to the process that comes to the meeting. Rejects with a UserError if that fails; the
   * gateway goes on then as if nothing had been.
   */
  static async meet(meeting: Meeting, gateway: HandingOver, events: SuccessorEvents): Promise<Successor> {
    let next: Next | undefined;
    try {
      next = new Next(await within(STEP_MS, 'the next process did not connect', meeting.next()));
      await passSockets(next, meeting, gateway);
      await next.step(next.pause, STEP_MS, 'the next process did not get ready');
      await passState(next, gateway);
    } catch (error) {
      next?.refuse(error instanceof UserError ? error.lines : [String(error)]);
      throw error;
    } finally {
      meeting.close();
    }
    return new Successor(next, gateway, events);
  }

  /** The state is the next process's. */
  private constructor(next: Next, gateway: HandingOver, events: SuccessorEvents) {
    this.#next = next;
    events.onDecided();
    next.port.serve({
      told: (port, told) => gateway.ledger.tell(port, told),
      serving: () => events.onServing(),
      stop: (milliseconds) => events.onStop(milliseconds),
      snapshots: (query) => gateway.snapshots(query),
      stopRequest: (id) => gateway.stopRequest(id),
    });
    next.go.resolve();
    gateway.ledger.forward((port, asked) => next.port.tell('asked', port, asked));
    void next.conversation.ended.then(() => {
      if (!this.#isEnding) events.onLost();
    });
  }

  /** All is settled, and `snapshots` is what metrics have counted. */
  end(snapshots: readonly WorkerSnapshot[]): void {
    this.#isEnding = true;
    this.#next.port.tell('end', snapshots);
    this.#next.conversation.end();
  }
}

async function passSockets(next: Next, meeting: Meeting, gateway: HandingOver): Promise<void> {
  const count = await next.step(next.sockets, STEP_MS, 'the next process did not ask for the listening sockets');
  if (count === 0) return;
  const own = await gateway.sockets();
  const connection = await within(
    STEP_MS,
    'the next process did not connect for the listening sockets',
    meeting.next(),
  );
  // It may have more threads than this one.
  const wanted = Array.from({ length: count }, (_, index) => own[index % own.length] as ListeningSocket);
  await sendSockets(connection, wanted);
}

/**
 * Until the next process has said that it has opened the state, this one keeps the lock: whatever becomes of the other, it
 * can go on.
 */
async function passState(next: Next, gateway: HandingOver): Promise<void> {
  const handover = await gateway.ledger.handOver();
  try {
    next.handover.resolve(handover);
    await next.step(next.ready, PAUSE_MS, 'the next process did not open the state');
  } catch (error) {
    next.refuse(['the running gateway did not wait any longer, and goes on']);
    gateway.ledger.keep();
    throw error;
  }
  gateway.unlock();
}
