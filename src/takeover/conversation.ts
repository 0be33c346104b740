/** Messages between two processes on one machine, over a Unix socket. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import type { Channel, Message } from '../core/channel.ts';

/** The bytes before each message, which say its length. */
const HEAD_BYTES = 4;
/** A handover of 100,000 busy keys has some 100 MB. */
const MAX_MESSAGE_BYTES = 1024 ** 3;

/** Emits `message`, and `close` when nothing more comes. */
export class Conversation extends EventEmitter implements Channel {
  readonly #socket: Socket;
  /** Resolves when nothing more comes. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  #pieces: Buffer[] = [];
  #pendingBytes = 0;
  /** Before these have come there is nothing to read. */
  #neededBytes = HEAD_BYTES;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    // An error is followed by a close.
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => this.#receive(piece));
    this.ended = new Promise((resolve) => {
      socket.once('close', () => {
        this.#hasEnded = true;
        this.emit('close');
        resolve();
      });
    });
    socket.resume();
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Does nothing once either side has said its last. */
  postMessage(message: Message): void {
    if (!this.#socket.writable) return;
    const body = serialize(message);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(body.length);
    this.#socket.cork();
    this.#socket.write(head);
    this.#socket.write(body);
    this.#socket.uncork();
  }

  /** Says nothing more, and waits until the other side hangs up, too. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #receive(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#pendingBytes += piece.length;
    while (this.#pendingBytes >= this.#neededBytes) {
      const whole = Buffer.concat(this.#pieces);
      const end = HEAD_BYTES + whole.readUInt32BE();
      if (end > MAX_MESSAGE_BYTES) return this.destroy();
      const isComplete = whole.length >= end;
      if (isComplete) this.emit('message', deserialize(whole.subarray(HEAD_BYTES, end)) as Message);
      const rest = isComplete ? whole.subarray(end) : whole;
      this.#pieces = [rest];
      this.#pendingBytes = rest.length;
      this.#neededBytes = isComplete ? HEAD_BYTES : end;
    }
  }
}
