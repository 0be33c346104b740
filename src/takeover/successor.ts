/** The next process, as the one sees it that hands over to it. */
import { UserError } from '../core/errors.ts';
import type { RunningLedger } from '../ledger/client.ts';
import type { WorkerQuery, WorkerSnapshot } from '../observe/worker-snapshot.ts';
import { Conversation } from './conversation.ts';
import type { Meeting } from './meeting.ts';
import { type ListeningSocket, sendSockets } from './pass-sockets.ts';
import type { FromPredecessor, FromSuccessor, PredecessorCall, PredecessorReply } from './protocol.ts';
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

type Talk = Conversation<FromSuccessor, FromPredecessor>;

export class Successor {
  readonly #talk: Talk;
  readonly #gateway: HandingOver;
  readonly #events: SuccessorEvents;
  #isEnding = false;

  /**
   * Hands over to the process that comes to the meeting. Rejects with a UserError if that fails; the
   * gateway goes on then as if nothing had been.
   */
  static async meet(meeting: Meeting, gateway: HandingOver, events: SuccessorEvents): Promise<Successor> {
    let talk: Talk | undefined;
    try {
      talk = new Conversation(await within(STEP_MS, 'the next process did not connect', meeting.next()));
      await passSockets(talk, meeting, gateway);
      await talk.next('pause', STEP_MS, 'the next process did not get ready');
      await passState(talk, gateway);
    } catch (error) {
      talk?.send({ kind: 'refused', lines: error instanceof UserError ? error.lines : [String(error)] });
      talk?.end();
      throw error;
    } finally {
      meeting.close();
    }
    return new Successor(talk, gateway, events);
  }

  /** The state is the next process's. */
  private constructor(talk: Talk, gateway: HandingOver, events: SuccessorEvents) {
    this.#talk = talk;
    this.#gateway = gateway;
    this.#events = events;
    events.onDecided();
    talk.send({ kind: 'go' });
    gateway.ledger.relay((port, asked) => talk.send({ kind: 'asked', port, asked }));
    talk.listen((message) => this.#receive(message));
    void talk.ended.then(() => {
      if (!this.#isEnding) events.onLost();
    });
  }

  /** All is settled, and `snapshots` is what metrics have counted. */
  end(snapshots: readonly WorkerSnapshot[]): void {
    this.#isEnding = true;
    this.#talk.send({ kind: 'end', snapshots });
    this.#talk.end();
  }

  #receive(message: FromSuccessor): void {
    switch (message.kind) {
      case 'told':
        return this.#gateway.ledger.tell(message.port, message.told);
      case 'serving':
        return this.#events.onServing();
      case 'stop':
        return this.#events.onStop(message.milliseconds);
      case 'call':
        return void this.#answer(message.call).then((reply) => {
          this.#talk.send({ kind: 'reply', ticket: message.ticket, reply });
        });
      case 'sockets':
      case 'pause':
      case 'ready':
        return;
    }
  }

  #answer(call: PredecessorCall): Promise<PredecessorReply> {
    switch (call.kind) {
      case 'snapshots':
        return this.#gateway.snapshots(call.query);
      case 'stop_request':
        return this.#gateway.stopRequest(call.id);
    }
  }
}

async function passSockets(talk: Talk, meeting: Meeting, gateway: HandingOver): Promise<void> {
  const { count } = await talk.next('sockets', STEP_MS, 'the next process did not ask for the listening sockets');
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
async function passState(talk: Talk, gateway: HandingOver): Promise<void> {
  const handover = await gateway.ledger.handOver();
  try {
    if (talk.hasEnded) throw new UserError('the next process has ended');
    talk.send({ kind: 'handover', handover });
    await talk.next('ready', PAUSE_MS, 'the next process did not open the state');
  } catch (error) {
    talk.send({ kind: 'refused', lines: ['the running gateway did not wait any longer, and goes on'] });
    talk.end();
    gateway.ledger.keep();
    throw error;
  }
  gateway.unlock();
}
