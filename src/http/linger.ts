/** Closes a connection whose client may still be sending, so that the client can first read its last response. */
import type { Socket } from 'node:net';
import { inSpareTime } from './turns.ts';

/** The maximum length of a discarded body. Go's figure. */
export const MAX_DISCARDED_BYTES = 256 * 1024;
/** Maximum length of one read of a socket in Node. */
export const READ_BYTES = 64 * 1024;
/** How long a connection may stay half open after its last response, in milliseconds. */
const LINGER_MS = 2_000;

/**
 * Flushes the written bytes, ends the sending half, and discards incoming bytes until the client closes its half. An immediate
 * close would reset the connection while bytes arrive, and a reset can overtake the response. Bytes beyond `MAX_DISCARDED_BYTES`
 * stay unread in the system's buffers, whose flow control stops the client. `declaredBytes` is the length of the pending body; a
 * longer one is not read at all. The caller gives up the socket.
 */
export function linger(socket: Socket, declaredBytes = 0): void {
  const isShort = declaredBytes <= MAX_DISCARDED_BYTES;
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.removeAllListeners('data');
  socket.end();
  let discardedBytes = 0;
  socket.on('data', (chunk: Buffer) => {
    discardedBytes += chunk.length;
    socket.pause();
    // A paused socket buffers one more read, and a resumed one starts another before it delivers that one.
    if (isShort && discardedBytes + 2 * READ_BYTES <= MAX_DISCARDED_BYTES) inSpareTime(() => socket.resume());
  });
  if (isShort) socket.resume();
  else socket.pause();
}
