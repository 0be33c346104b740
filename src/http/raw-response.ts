/** Writes an error response directly to a socket, for requests that never reached the request handler. */

import type { Socket } from 'node:net';
import { type ClientError, statusOf } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { RateFigures } from '../core/limits.ts';
import { STATUS_CODES } from '../core/node-http.ts';
import type { ErrorFormat } from './exchange.ts';
import { addRateHeaders, SENT_HEADERS } from './headers.ts';
import { linger } from './linger.ts';
import { errorForParser } from './malformed.ts';
import type { ParserError } from './server.ts';

/** Sends an error in the usual format, with `more` headers, and closes the connection. */
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
  // A reset during the write must not become an uncaught exception.
  socket.on('error', () => {});
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  linger(socket);
}

/** Sends a parser error as plain text, for clients outside the API, and closes the connection. */
export function writeParserError(socket: Socket, error: ParserError): void {
  const fault = errorForParser(error);
  const status = statusOf(fault);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n${fault.message}\n`);
  linger(socket);
}
