/** The fake upstream, a process of its own: answers every request from bytes that were made beforehand. */
import { createServer, type Socket } from 'node:net';
import type { StreamShape, UpstreamOrder } from './messages.ts';
import { completionBytes, ENDING_EVENTS, STREAM_MARK, streamPieces } from './payloads.ts';

const COMPLETION = completionBytes();
const STREAM = streamPieces();
const FIRST_EVENT = Buffer.concat([STREAM.head, STREAM.event]);
const END_OF_HEAD = '\r\n\r\n';

let shape: StreamShape = { events: 1, paceMs: 0 };
/** Those that go on until they are told. */
const held = new Set<Streamer>();

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

/** Writes one stream, each event by itself, and waits for a reader that is slow where the stream has no pace. */
class Streamer {
  readonly #socket: Socket;
  readonly #shape = shape;
  #timer: NodeJS.Timeout | undefined;
  #sent = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  start(): void {
    const { events, paceMs } = this.#shape;
    if (events === 'until told') held.add(this);
    if (paceMs === 0) {
      this.#flood();
      return;
    }
    if (paceMs !== undefined) this.#timer = setInterval(() => this.#writeNext(), paceMs);
    this.#writeNext();
  }

  /** Writes the end; gives the number of events that there were in all. */
  end(): number {
    clearInterval(this.#timer);
    if (!this.#socket.destroyed) this.#socket.write(STREAM.end);
    return this.#sent + ENDING_EVENTS;
  }

  #flood(): void {
    if (!this.#writeNext()) return;
    if (this.#socket.writableNeedDrain) this.#socket.once('drain', () => this.#flood());
    else setImmediate(() => this.#flood());
  }

  /** False once the stream is over. */
  #writeNext(): boolean {
    if (this.#socket.destroyed || this.#sent === this.#shape.events) {
      this.end();
      return false;
    }
    this.#socket.write(this.#sent === 0 ? FIRST_EVENT : STREAM.event);
    this.#sent++;
    return true;
  }
}

function obey(order: UpstreamOrder): number {
  if (order.order === 'shape') {
    shape = order.shape;
    return 0;
  }
  const events = [...held].reduce((sum, streamer) => sum + streamer.end(), 0);
  held.clear();
  return events;
}

process.on('message', (message: UpstreamOrder | string) => {
  // Words are for the probe.
  if (typeof message !== 'string') process.send?.(obey(message));
});
// The probe would let it end.
process.channel?.ref();

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
