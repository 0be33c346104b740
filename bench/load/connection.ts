/** A kept-alive connection of the load generator. */
import { connect, type Socket } from 'node:net';
import { ResponseReader } from '../response-reader.ts';

const READ_BYTES = 64 * 1024;

/** Events of a connection. */
export interface ConnectionEvents {
  onOpen(connection: Connection): void;
  /** The first byte of a body has arrived. */
  onFirstByte?(connection: Connection): void;
  /** An answer is complete; the times of its first and last byte are monotonic. */
  onAnswer(connection: Connection, firstByteAtMs: number, endAtMs: number): void;
  onError(reason: string): void;
}

/** A connection with at most one request in flight. */
export class Connection {
  readonly reader = new ResponseReader();
  /** When the request in flight was due: its latency counts from then. */
  dueAtMs = 0;
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  #firstByteAtMs = 0;

  constructor(port: number, events: ConnectionEvents) {
    this.#events = events;
    this.#socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (length, buffer) => {
          this.#receive((buffer as Buffer).subarray(0, length));
          return true;
        },
      },
    });
    this.#socket.once('connect', () => events.onOpen(this));
    this.#socket.on('error', (error) => events.onError(error.message));
    this.#socket.on('close', () => events.onError('the server closed a connection'));
  }

  send(request: Buffer, dueAtMs: number): void {
    this.dueAtMs = dueAtMs;
    this.#firstByteAtMs = 0;
    this.reader.bodyBytes = 0;
    this.reader.lineFeeds = 0;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.removeAllListeners('close').destroy();
  }

  #receive(bytes: Buffer): void {
    const isComplete = this.reader.take(bytes);
    if (this.#firstByteAtMs === 0 && this.reader.bodyBytes > 0) {
      this.#firstByteAtMs = performance.now();
      this.#events.onFirstByte?.(this);
    }
    if (isComplete) this.#events.onAnswer(this, this.#firstByteAtMs, performance.now());
  }
}
