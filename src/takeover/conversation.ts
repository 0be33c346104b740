/** Exchanges messages with another process over a Unix socket. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';
import type { Channel, Message } from '../core/channel.ts';

/** Length prefix of each message. */
const HEAD_BYTES = 4;
/** Maximum message size. A handover of 100,000 busy keys has about 100 MB. */
const MAX_MESSAGE_BYTES = 1024 ** 3;

/** Emits `message`, and `close` at the end. */
export class Conversation extends EventEmitter implements Channel {
  readonly #socket: Socket;
  /** Resolves after `close`. */
  readonly ended: Promise<void>;
  #hasEnded = false;
  #pieces: Buffer[] = [];
  #pendingBytes = 0;
  /** Buffered bytes required before the next parse. */
  #neededBytes = HEAD_BYTES;

  constructor(socket: Socket) {
    super();
    this.#socket = socket;
    // `close` follows every error.
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

  /** Ignored after the end of the connection. */
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

  /** Half-closes the connection; the other side closes the rest. */
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
