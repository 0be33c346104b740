/** The fake upstream, in a process of its own: answers every request with prebuilt bytes. */
import { createServer, type Socket } from 'node:net';
import type { StreamShape, UpstreamOrder } from './messages.ts';
import { completionBytes, FINAL_EVENTS, STREAM_MARK, streamPieces } from './payloads.ts';

const COMPLETION = completionBytes();
const STREAM = streamPieces();
const FIRST_EVENT = Buffer.concat([STREAM.head, STREAM.event]);
const END_OF_HEAD = '\r\n\r\n';

let shape: StreamShape = { events: 1, paceMs: 0 };
/** The endless streams that are open. */
const held = new Set<Streamer>();

/**
 * Splits the bytes of a connection into requests. There is no pipelining, so they arrive one at a
 * time.
 */
function serve(socket: Socket): void {
  let pending: Buffer | undefined;
  socket.setNoDelay(true);
  // A proxy that is stopped resets its connections.
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

/** Writes one stream, event by event. Without a pace, backpressure sets the speed. */
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
    if (events === 'endless') held.add(this);
    if (paceMs === 0) {
      this.#flood();
      return;
    }
    if (paceMs !== undefined) this.#timer = setInterval(() => this.#writeNext(), paceMs);
    this.#writeNext();
  }

  /** Writes the end. Returns the number of events in all. */
  end(): number {
    clearInterval(this.#timer);
    if (!this.#socket.destroyed) this.#socket.write(STREAM.end);
    return this.#sent + FINAL_EVENTS;
  }

  #flood(): void {
    if (!this.#writeNext()) return;
    if (this.#socket.writableNeedDrain) this.#socket.once('drain', () => this.#flood());
    else setImmediate(() => this.#flood());
  }

  /** False once the stream has ended. */
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

function execute(order: UpstreamOrder): number {
  if (order.order === 'shape') {
    shape = order.shape;
    return 0;
  }
  const events = [...held].reduce((sum, streamer) => sum + streamer.end(), 0);
  held.clear();
  return events;
}

process.on('message', (message: UpstreamOrder | string) => {
  // Strings are for the probe.
  if (typeof message !== 'string') process.send?.(execute(message));
});
// The probe has unreferenced the channel; this process has to stay.
process.channel?.ref();

const server = createServer(serve);
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
