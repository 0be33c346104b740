/** The earlier process's side of a handover. */
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
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

/** Time limit for each step of the next process, in milliseconds. It includes loading the program. */
const STEP_MS = 30_000;
/**
 * Time limit for opening the state, in milliseconds. All admissions wait during that time. Opening takes some tens of
 * milliseconds, and a second with 100,000 busy keys.
 */
const PAUSE_MS = 3_000;

/** The running gateway, as needed for a handover. */
export interface HandingOver {
  readonly ledger: RunningLedger;
  sockets(): Promise<readonly ListeningSocket[]>;
  /** Releases the lock of the state. */
  unlock(): void;
  /** Snapshots of all threads with requests in flight, including threads of a yet earlier process. */
  snapshots(query: WorkerQuery): Promise<readonly WorkerSnapshot[]>;
  stopRequest(id: string): Promise<boolean>;
}

export interface SuccessorEvents {
  /** The next process has become the decider. */
  onDecided(): void;
  /** The next process accepts connections. */
  onServing(): void;
  /** The next process exited before this one. */
  onLost(): void;
  /** The next process shuts down. This process must exit within the given time. */
  onStop(milliseconds: number): void;
}

/** The next process before it decides: its pending calls and their promises. */
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

  /** Waits for a call of the next process. Rejects with a UserError after the time limit, or if the process exits. */
  step<T>({ promise }: PromiseWithResolvers<T>, milliseconds: number, problem: string): Promise<T> {
    const ended = this.conversation.ended.then(() => {
      throw new UserError(`${problem}: it has ended`);
    });
    return within(milliseconds, problem, Promise.race([promise, ended]));
  }

  /** Refuses the handover. Only the first reason is delivered. */
  refuse(lines: readonly string[]): void {
    this.port.tell('refused', lines);
    this.conversation.end();
  }
}

export class Successor {
  readonly #next: Next;
  #isEnding = false;

  /** Hands over to the process that connects. If that fails, rejects with a UserError, and this gateway continues unchanged. */
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

  /** The next process now owns the state. */
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

  /** Ends the handover after the last settlement. `snapshots`: the final metrics. */
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
  // The next process may have more threads than this one.
  const wanted = Array.from({ length: count }, (_, index) => own[index % own.length] as ListeningSocket);
  await sendSockets(connection, wanted);
}

/** Keeps the lock until the next process has opened the state, so that this process can continue if the other one fails. */
async function passState(next: Next, gateway: HandingOver): Promise<void> {
  const handover = await gateway.ledger.handOver();
  try {
    next.handover.resolve(handover);
    // Lets the reply be written before the time limit starts: writing a large state takes a second.
    await setImmediate();
    await next.step(next.ready, PAUSE_MS, 'the next process did not open the state');
  } catch (error) {
    next.refuse(['the running gateway did not wait any longer, and goes on']);
    gateway.ledger.keep();
    throw error;
  }
  gateway.unlock();
}
