/** The fake upstream, a process of its own: answers every request from bytes that were made beforehand. */
import { createServer, type Socket } from 'node:net';
import type { StreamShape } from './messages.ts';
import { completionBytes, STREAM_MARK, streamPieces } from './payloads.ts';

const COMPLETION = completionBytes();
const STREAM = streamPieces();
const FIRST_EVENT = Buffer.concat([STREAM.head, STREAM.event]);
const END_OF_HEAD = '\r\n\r\n';

let shape: StreamShape = { events: 1, paceMs: 0 };

/** Cuts a connection's bytes into requests. One after another, as HTTP clients without pipelining send them. */
function serve(socket: Socket): void {
  let pending: Buffer | undefined;
  socket.setNoDelay(true);
  // A proxy that is ended breaks its connections.
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    pending = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
    const headLength = pending.indexOf(END_OF_HEAD);
    if (headLength < 0) return;
    const head = pending.toString('latin1', 0, headLength);
    const bodyLength = Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    if (pending.length < headLength + END_OF_HEAD.length + bodyLength) return;
    const isStream = pending.includes(STREAM_MARK, headLength);
    pending = undefined;
    if (isStream) new Streamer(socket).start();
    else socket.write(COMPLETION);
  });
}

/** Writes one stream, each event by itself, and waits for a reader that is slow. */
class Streamer {
  readonly #socket: Socket;
  readonly #shape = shape;
  #sent = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  start(): void {
    if (this.#shape.paceMs === 0) {
      this.#flood();
      return;
    }
    const timer = setInterval(() => {
      if (this.#socket.destroyed || !this.#writeNext()) clearInterval(timer);
    }, this.#shape.paceMs);
    this.#writeNext();
  }

  #flood(): void {
    if (this.#socket.destroyed || !this.#writeNext()) return;
    if (this.#socket.writableNeedDrain) this.#socket.once('drain', () => this.#flood());
    else setImmediate(() => this.#flood());
  }

  /** False once the end was written. */
  #writeNext(): boolean {
    const isOver = this.#sent === this.#shape.events;
    if (isOver) this.#socket.write(STREAM.end);
    else this.#socket.write(this.#sent === 0 ? FIRST_EVENT : STREAM.event);
    this.#sent++;
    return !isOver;
  }
}

process.on('message', (message: StreamShape) => {
  shape = message;
  process.send?.('ready');
});

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
