/** An answer in the shape of every error, on a socket for which there is no request. */

import type { Socket } from 'node:net';
import { type ClientError, errorBody, statusOf } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../core/limits.ts';
import { addRateHeaders } from './headers.ts';

/** How long a connection that got its last answer may stay half open, in milliseconds. */
const LINGER_MS = 2_000;

/** Answers on a socket for which there is no request, and closes it. */
export function writeRaw(socket: Socket, error: ClientError, figures: RateFigures): void {
  const body = errorBody(error);
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  headers.push('Connection', 'close', 'X-Request-Id', newId('req', Date.now()));
  addRateHeaders(headers, figures);
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1]}`] : []));
  const status = statusOf(error);
  // After CONNECT nobody listens any more: a reset would be an uncaught exception and end the process.
  socket.on('error', () => {});
  // A client that keeps its half open would keep the socket for ever; breaking it at once could cost it the answer.
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
