/**
 * A client that sends given bytes over a connection of its own, and keeps everything it receives.
 */
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { reset } from '../support/reset.ts';
import { readAnswers } from './http.ts';

export interface Sending {
  readonly port: number;
  readonly pieces: readonly Buffer[];
  /** How many complete responses it waits for; with 0 it disconnects at once. */
  readonly answers: number;
  /**
   * How long it waits without receiving anything before it disconnects. Then it calls `ask`, which
   * asks the gateway something else, and disconnects only if nothing arrives meanwhile either.
   */
  readonly patienceMs: number;
  ask?(): Promise<unknown>;
}

export interface Received {
  readonly bytes: Buffer;
  /** The gateway closed the connection before the client had its responses. */
  readonly wasClosed: boolean;
  /** Nothing more arrived, and the client disconnected. */
  readonly timedOut: boolean;
  /** The connection stayed open although the client had ended its half. */
  readonly isStuck: boolean;
}

/** Longer than the gateway keeps a connection half open. */
const ENDING_MS = 60_000;

/**
 * Sends, receives, ends its half of the connection, and waits until the other half has ended too.
 */
export async function send({ port, pieces, answers, patienceMs, ask }: Sending): Promise<Received> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const received: Buffer[] = [];
  const closed = Promise.withResolvers<void>();
  const satisfied = Promise.withResolvers<'satisfied' | 'timed out'>();
  const timeOut = async () => {
    const before = received.length;
    await ask?.();
    if (received.length === before) satisfied.resolve('timed out');
  };
  const patience = setTimeout(() => void timeOut(), patienceMs);
  socket.on('error', () => {});
  socket.once('close', () => closed.resolve());
  socket.on('data', (bytes: Buffer) => {
    received.push(bytes);
    patience.refresh();
    if (finalAnswers(Buffer.concat(received)) >= answers) satisfied.resolve('satisfied');
  });
  for (const piece of pieces) {
    socket.write(piece);
    await turn();
  }
  if (answers === 0) reset(socket);
  const reason = await Promise.race([satisfied.promise, closed.promise]);
  clearTimeout(patience);
  socket.end();
  const isStuck = !(await endsInTime(closed.promise));
  socket.destroy();
  const wasClosed = reason === undefined && answers > 0;
  return { bytes: Buffer.concat(received), wasClosed, timedOut: reason === 'timed out', isStuck };
}

function finalAnswers(bytes: Buffer): number {
  return readAnswers(bytes, { mayLackBodies: false, isClosed: false }).answers.filter(({ status }) => status >= 200)
    .length;
}

async function endsInTime(closed: Promise<void>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), ENDING_MS);
  try {
    return await Promise.race([closed.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
