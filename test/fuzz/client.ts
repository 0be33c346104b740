/** A client that sends what it is given over a connection of its own, and keeps all that comes back. */
import { connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { readAnswers } from './http.ts';

export interface Sending {
  readonly port: number;
  readonly pieces: readonly Buffer[];
  /** How many whole answers it waits for; it leaves at once for 0. */
  readonly answers: number;
  /** It gives up when nothing has come for so long, and nothing comes while `ask` asks the gateway something else. */
  readonly patienceMs: number;
  ask?(): Promise<unknown>;
}

export interface Received {
  readonly bytes: Buffer;
  /** The gateway closed the connection before the client had what it waited for. */
  readonly wasClosed: boolean;
  /** Nothing more came, and the client gave up. */
  readonly gaveUp: boolean;
  /** The connection did not end although the client had ended its half. */
  readonly isStuck: boolean;
}

/** Longer than the gateway keeps a connection half open. */
const ENDING_MS = 60_000;

/** Sends, receives, ends its half of the connection, and waits until the other half has ended, too. */
export async function send({ port, pieces, answers, patienceMs, ask }: Sending): Promise<Received> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const received: Buffer[] = [];
  const closed = Promise.withResolvers<void>();
  const satisfied = Promise.withResolvers<'satisfied' | 'gave up'>();
  const giveUp = async () => {
    const before = received.length;
    await ask?.();
    if (received.length === before) satisfied.resolve('gave up');
  };
  const patience = setTimeout(() => void giveUp(), patienceMs);
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
  if (answers === 0) socket.resetAndDestroy();
  const reason = await Promise.race([satisfied.promise, closed.promise]);
  clearTimeout(patience);
  socket.end();
  const isStuck = !(await endsInTime(closed.promise));
  socket.destroy();
  const wasClosed = reason === undefined && answers > 0;
  return { bytes: Buffer.concat(received), wasClosed, gaveUp: reason === 'gave up', isStuck };
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
