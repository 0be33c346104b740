/**
 * A client that sends one request over a connection of its own, reads in step with the host, and
 * leaves when it likes.
 */
import { connect, type Socket } from 'node:net';
import { bounded } from '../support/wait.ts';
import type { Conversation, LeavingPoint } from './conversation.ts';

export interface Received {
  /** 0 where the client left before the status line. */
  readonly status: number;
  /** Everything that came, head and framing included. */
  readonly text: string;
}

export interface Sending {
  readonly port: number;
  readonly secret: string;
  readonly body: string;
  readonly conversation: Conversation;
  /** Where it goes; to chat completions unless it says so. */
  readonly path?: string;
  /** Whether its client leaves now; by what it has read in chat unless it says so. */
  readonly isReached?: (text: string) => boolean;
}

/** Pieces after which a client leaves in the middle. */
export const MIDDLE_PIECES = 4;

export const countOf = (text: string, part: string) => text.split(part).length - 1;

/** Whether a client that leaves at this point leaves now. */
const IS_REACHED: Readonly<Record<LeavingPoint, (text: string) => boolean>> = {
  never: () => false,
  arrival: () => false,
  'first piece': (text) => text.includes('"choices"'),
  middle: (text) => countOf(text, '"choices"') >= MIDDLE_PIECES,
  'finish reason': (text) => text.includes('"finish_reason":"stop"'),
  report: (text) => text.includes('"usage"') && text.includes('"finish_reason":"stop"'),
};

/** Sends a request, and reads until its connection ends or the client leaves. */
export function send(sending: Sending): Promise<Received> {
  const { port, conversation, isReached = IS_REACHED[conversation.leaves] } = sending;
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  const decoder = new TextDecoder();
  const leave = () => {
    conversation.leave();
    socket.destroy();
  };
  socket.once('error', (error) => (text === '' && !conversation.hasLeft ? reject(error) : undefined));
  socket.on('data', (bytes) => {
    text += decoder.decode(Buffer.from(bytes), { stream: true });
    if (isReached(text)) leave();
    else conversation.read(bytes.length);
  });
  socket.once('close', () => {
    conversation.leave();
    resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text });
  });
  socket.once('connect', () => write(socket, sending));
  if (conversation.leaves === 'arrival') void conversation.arrival.then(leave);
  return bounded(promise, `an answer to ${conversation.id}`);
}

function write(socket: Socket, { secret, body, path = '/v1/chat/completions' }: Sending): void {
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nAuthorization: Bearer ${secret}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
