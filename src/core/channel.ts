/** What ports run on. */
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
