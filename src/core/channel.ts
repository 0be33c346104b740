/** What ports run on, and the channel between two parts of one thread. */
import { EventEmitter } from 'node:events';
import type { MessagePort } from 'node:worker_threads';

/** What carries messages to the other side and back: a thread, a message port, a connection to another process. */
export interface Channel {
  postMessage(message: Message): void;
  postMessage(message: Message, moved: MessagePort[]): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit' | 'close', listener: () => void): unknown;
}

/** A call, or an event if the ticket is 0. Flat, since to clone an array takes a quarter of the time of an object. */
export type Asked = readonly [name: string, ticket: number, ...given: unknown[]];
export type Returned = readonly [ticket: number, result: unknown];
/** Of a UserError also its lines, which it would lose on the way. */
export type Thrown = readonly [ticket: number, result: undefined, error: unknown, lines: readonly string[] | undefined];

export type Message = Asked | Returned | Thrown;

interface Events {
  message: [Message];
  error: [Error];
  exit: [];
  close: [];
}

/** What one end posts, the other receives before that returns. */
export class LocalChannel extends EventEmitter<Events> implements Channel {
  #other: LocalChannel | undefined;

  static pair(): readonly [LocalChannel, LocalChannel] {
    const [one, other] = [new LocalChannel(), new LocalChannel()];
    one.#other = other;
    other.#other = one;
    return [one, other];
  }

  /** Nothing is copied, and what is posted to a closed channel is dropped. */
  postMessage(message: Message): void {
    this.#other?.emit('message', message);
  }

  /** The other end learns of an internal error of this one. */
  fail(error: Error): void {
    this.#other?.emit('error', error);
  }

  /** Closes both ends. */
  close(): void {
    const other = this.#other;
    if (other === undefined) return;
    this.#other = undefined;
    this.emit('close');
    other.close();
  }
}
