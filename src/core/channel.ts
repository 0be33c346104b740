/** Message channels that ports use. */
import type { MessagePort } from 'node:worker_threads';

/** A bidirectional message channel: a thread, a message port, or a connection to another process. */
export interface Channel {
  postMessage(message: Message): void;
  postMessage(message: Message, moved: MessagePort[]): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit' | 'close', listener: () => void): unknown;
}

/** A call, or an event if the ticket is 0. Flat: cloning an array takes a quarter of the time of cloning an object. */
export type Asked = readonly [name: string, ticket: number, ...given: unknown[]];
export type Returned = readonly [ticket: number, result: unknown];
/** `lines`: the lines of a UserError, which structured cloning would drop. */
export type Thrown = readonly [ticket: number, result: undefined, error: unknown, lines: readonly string[] | undefined];

export type Message = Asked | Returned | Thrown;
