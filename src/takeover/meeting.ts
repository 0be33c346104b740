/** Listens for the connections of the next process during a handover. */
import { rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { listenPrivately } from '../control/server.ts';
import { UserError } from '../core/errors.ts';

/** Accepts connections one after the other. */
export interface Meeting {
  /** Resolves with the next connection, paused. */
  next(): Promise<Socket>;
  close(): void;
}

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
    await listenPrivately(server, path);
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
