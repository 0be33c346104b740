/** A lock on a port, for gateways that start at the same time. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { ListenAddress } from '../core/address.ts';
import { UserError } from '../core/errors.ts';
import { explainListenError } from './address.ts';

export interface PortLock {
  release(): void;
}

/** Maximum wait for another gateway that is starting on the same port. */
const WAIT_MS = 5_000;
const RETRY_MS = 20;

/**
 * Locks a port from the check that it is free until all threads listen on it. When several threads share a port, the operating
 * system would let another process share it too.
 *
 * The lock is the UDP port of the same number on the loopback address, bound exclusively. A lock file in a shared directory could
 * be taken by any user; a user who can take this port can take the TCP port as well. The operating system releases the lock when
 * the process ends. Throws a UserError if the lock is not acquired within 5 s.
 */
export async function lockPort(listen: ListenAddress): Promise<PortLock> {
  const { port } = listen;
  const deadline = performance.now() + WAIT_MS;
  while (true) {
    const lock = await tryLock(listen);
    if (lock !== undefined) return lock;
    if (performance.now() > deadline) {
      throw new UserError(
        `UDP port ${port} of 127.0.0.1 is in use, by a gateway that is starting or by another program; ` +
          `several threads need it while they start: end that program, or set \`threads: 1\` or another \`listen:\` port`,
      );
    }
    await setTimeout(RETRY_MS);
  }
}

/** Returns undefined if another process holds the lock. */
async function tryLock(listen: ListenAddress): Promise<PortLock | undefined> {
  const socket = createSocket('udp4');
  try {
    socket.bind({ address: '127.0.0.1', port: listen.port, exclusive: true });
    await once(socket, 'listening');
    return { release: () => socket.close() };
  } catch (error) {
    socket.close();
    const problem = error as NodeJS.ErrnoException;
    if (problem.code === 'EADDRINUSE') return undefined;
    throw explainListenError(problem, listen);
  }
}
