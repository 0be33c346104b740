/** Messages between two processes on one machine, over a Unix socket. */
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import { UserError } from '../core/errors.ts';
import { within } from './within.ts';

/** The bytes before each message, which say its length. */
const HEAD_BYTES = 4;
/** A handover of 100,000 busy keys has some 100 MB. */
const MAX_MESSAGE_BYTES = 1024 ** 3;

/** The other process has ended, or hung up. */
export class ConversationEnded extends UserError {}

interface Message {
  readonly kind: string;
}

export class Conversation<In extends Message, Out extends Message> {
  readonly #socket: Socket;
  /** Resolves when nothing more comes. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  #pieces: Buffer[] = [];
  #pendingBytes = 0;
  /** Before these have come there is nothing to read. */
  #neededBytes = HEAD_BYTES;
  /** Arrived before anybody listened. */
  #early: In[] = [];
  #onMessage: ((message: In) => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    // An error is followed by a close.
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        this.#hasEnded = true;
        resolve();
      });
    });
    socket.resume();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  send(message: Out): void {
    if (this.#hasEnded) return;
    const body = serialize(message);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(body.length);
    this.#socket.cork();
    this.#socket.write(head);
    this.#socket.write(body);
    this.#socket.uncork();
  }

  /** From now on every message goes there. */
  listen(onMessage: (message: In) => void): void {
    this.#onMessage = onMessage;
    const early = this.#early;
    this.#early = [];
    for (const message of early) onMessage(message);
  }

  /**
   * Waits for the next message. Rejects with a UserError if it is of another kind, if it takes longer,
   * or if the conversation ends; `problem` says what did not happen.
   */
  next<K extends In['kind']>(kind: K, milliseconds: number, problem: string): Promise<Extract<In, { kind: K }>> {
    const message = new Promise<In>((resolve, reject) => {
      void this.ended.then(() => reject(new ConversationEnded(`${problem}: the other process has ended`)));
      this.#takeOne(resolve);
    });
    return within(milliseconds, problem, message).then((found) => {
      if (found.kind === kind) return found as Extract<In, { kind: K }>;
      throw new UserError('lines' in found ? (found.lines as string[]) : `${problem}: it said ${found.kind}`);
    });
  }

  /** Says nothing more, and waits until the other side hangs up, too. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #takeOne(take: (message: In) => void): void {
    const first = this.#early.shift();
    if (first !== undefined) return take(first);
    this.#onMessage = (message) => {
      this.#onMessage = undefined;
      take(message);
    };
  }

  #receive(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#pendingBytes += piece.length;
    while (this.#pendingBytes >= this.#neededBytes) {
      const whole = Buffer.concat(this.#pieces);
      const end = HEAD_BYTES + whole.readUInt32BE();
      if (end > MAX_MESSAGE_BYTES) return this.destroy();
      const isComplete = whole.length >= end;
      if (isComplete) this.#deliver(deserialize(whole.subarray(HEAD_BYTES, end)));
      const rest = isComplete ? whole.subarray(end) : whole;
      this.#pieces = [rest];
      this.#pendingBytes = rest.length;
      this.#neededBytes = isComplete ? HEAD_BYTES : end;
    }
  }

  #deliver(message: In): void {
    if (this.#onMessage === undefined) this.#early.push(message);
    else this.#onMessage(message);
  }
}
