/** Where a gateway that hands over waits for the next process. */
import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { UserError } from '../core/errors.ts';

/** Where another process connects, one connection after the other. */
export interface Meeting {
  /** The next connection, paused. */
  next(): Promise<Socket>;
  close(): void;
}

/** The umask that leaves a socket open to its owner alone, and the mode that results. */
const PRIVATE_MASK = 0o177;
const PRIVATE_MODE = 0o600;

/** Throws a UserError. */
export async function openMeeting(path: string): Promise<Meeting> {
  const waiting: Socket[] = [];
  let take: ((socket: Socket) => void) | undefined;
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    if (take === undefined) waiting.push(socket);
    else take(socket);
    take = undefined;
  });
  try {
    rmSync(path, { force: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      const mask = process.umask(PRIVATE_MASK);
      server.listen(path, resolve);
      process.umask(mask);
    });
    chmodSync(path, PRIVATE_MODE);
  } catch (error) {
    throw new UserError(`the running gateway cannot open the socket ${path}: ${(error as Error).message}`);
  }
  return {
    next: () =>
      new Promise((resolve) => {
        const first = waiting.shift();
        if (first === undefined) take = resolve;
        else resolve(first);
      }),
    close: () => server.close(),
  };
}
