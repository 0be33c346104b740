/**
 * Writes an error response directly to a socket, for requests that never reached the request
 * handler.
 */

import type { Socket } from 'node:net';
import { type ClientError, statusOf } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../core/limits.ts';
import type { ErrorFormat } from './exchange.ts';
import { addRateHeaders, SENT_HEADERS } from './headers.ts';

/** How long a connection may stay half open after its last response, in milliseconds. */
const LINGER_MS = 2_000;

/** Sends an error in the shape of all others, with `more` headers, and closes the connection. */
export function writeRaw(
  socket: Socket,
  error: ClientError,
  figures: RateFigures,
  format: ErrorFormat,
  more: readonly string[] = [],
): void {
  const requestId = newId('req', Date.now());
  const body = format.errorBody(error, requestId);
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  headers.push('Connection', 'close', SENT_HEADERS.requestId, requestId, ...more);
  addRateHeaders(headers, figures);
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1]}`] : []));
  const status = statusOf(error);
  // After CONNECT, Node removes its listeners: a reset would be an uncaught exception.
  socket.on('error', () => {});
  // A client that keeps its half open would hold the socket forever; destroying it at once could
  // lose the response.
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? 'Bad Request'}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

const REASONS: Readonly<Record<number, string>> = {
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};
