/** The interfaces between an HTTP server and its user. Requests and responses of `node:http` also implement them. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { CertificatePair } from '../core/settings.ts';

/** A request. Its body arrives later and is buffered until it is read or `resume` is called. */
export interface HttpRequest {
  readonly socket: Socket;
  readonly method?: string | undefined;
  /** The request target. */
  readonly url?: string | undefined;
  readonly httpVersion: string;
  /** Headers by lower-case name. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values as sent. */
  readonly rawHeaders: readonly string[];
  /** Whether the complete request has arrived. */
  readonly complete: boolean;
  readonly destroyed: boolean;
  /** The number of received, unread body bytes. */
  readonly readableLength: number;
  /** Returns the next received part of the body; null if no part is buffered. */
  read(): Buffer | null;
  /** Starts emitting the body as `data` events. Without a listener, it is discarded. */
  resume(): unknown;
  on(event: 'data', listener: (part: Buffer) => void): this;
  on(event: 'end' | 'close' | 'error', listener: () => void): this;
  once(event: 'end', listener: () => void): this;
  off(event: 'data', listener: (part: Buffer) => void): this;
  off(event: 'end' | 'close', listener: () => void): this;
}

export interface HttpResponse {
  readonly req: HttpRequest;
  /** Null once the response is sent. */
  readonly socket: Socket | null;
  /** Whether the connection stays open after the response. */
  shouldKeepAlive: boolean;
  readonly statusCode: number;
  readonly headersSent: boolean;
  /** The response is sent, or its connection has closed. */
  readonly destroyed: boolean;
  /** The system has accepted the complete response. */
  readonly writableFinished: boolean;
  /** Bytes that the system has not accepted yet. */
  readonly writableLength: number;
  writeContinue(): void;
  /** `headers`: alternating names and values. Throws if a value cannot be sent. */
  writeHead(status: number, headers: string[]): unknown;
  /** Returns false if the client falls behind; `drain` is emitted when it has caught up. */
  write(bytes: Buffer): boolean;
  end(bytes: string | Buffer): unknown;
  destroy(): unknown;
  /** `close` is emitted once. */
  on(event: 'close' | 'drain', listener: () => void): this;
  off(event: 'close' | 'drain', listener: () => void): this;
}

/** The reason why the parser rejected a request. */
export interface ParserError extends NodeJS.ErrnoException {
  /** The bytes that contain the error. */
  readonly rawPacket?: Buffer;
}

/** The value of the `Expect` header. */
export type Expectation = 'nothing' | 'continue' | 'unknown';

/** `socket` is the HTTP socket: under TLS it wraps the accepted socket. */
export interface ServerEvents {
  /** A connection was accepted. */
  onConnection(socket: Socket): void;
  /** The TLS handshake is complete. */
  onSecured(socket: Socket): void;
  /** The head of a request has arrived. */
  onRequest(request: HttpRequest, response: HttpResponse, expectation: Expectation): void;
  /** The client requested a tunnel. Its further input is not parsed. */
  onConnect(socket: Socket): void;
  /** The parser rejected input, a head took too long, or the connection failed. */
  onClientError(error: ParserError, socket: Socket): void;
  /** A connection was idle for too long, or exceeded the timeout of its socket. */
  onTimeout(socket: Socket): void;
}

export interface ServerOptions {
  /** Time limit for a client to send a head, in milliseconds. */
  readonly headMs: number;
  /** The advertised time that an idle connection stays open, in milliseconds. */
  readonly keepAliveMs: number;
  /** Undefined for plain HTTP. */
  readonly certificate: CertificatePair | undefined;
}
