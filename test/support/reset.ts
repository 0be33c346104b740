/** Resets of connections. */
import type { Socket } from 'node:net';

/**
 * Resets a connection, or closes it where its end is being sent: Node cannot reset it then, keeps its handle, and the
 * process never ends (26.10: it spins in `Environment::CleanupHandles`).
 */
export function reset(socket: Socket): void {
  if (socket.writableEnded && !socket.writableFinished) socket.destroy();
  else socket.resetAndDestroy();
}
