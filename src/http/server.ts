/** The interfaces between an HTTP server and its user. The requests and responses of `node:http` have them as well. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { CertificatePair } from '../core/settings.ts';

/** A request, whose body arrives after it. Nothing of the body is lost before it is read, or `resume` is called. */
export interface HttpRequest {
  readonly socket: Socket;
  readonly method?: string | undefined;
  /** Its target. */
  readonly url?: string | undefined;
  readonly httpVersion: string;
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values as they were sent. */
  readonly rawHeaders: readonly string[];
  /** All of it has arrived. */
  readonly complete: boolean;
  readonly destroyed: boolean;
  /** How many bytes of the body have arrived and wait to be read. */
  readonly readableLength: number;
  /** The next part of the body that has arrived. */
  read(): Buffer | null;
  /** Hands what has come and comes of the body to whoever listens, and drops it if nobody does. */
  resume(): unknown;
  on(event: 'data', listener: (part: Buffer) => void): this;
  on(event: 'end' | 'close' | 'error', listener: () => void): this;
  once(event: 'end', listener: () => void): this;
  off(event: 'data', listener: (part: Buffer) => void): this;
  off(event: 'end' | 'close', listener: () => void): this;
}

export interface HttpResponse {
  readonly req: HttpRequest;
  /** Null once the response is out. */
  readonly socket: Socket | null;
  /** Whether the connection stays open after it. */
  shouldKeepAlive: boolean;
  readonly statusCode: number;
  readonly headersSent: boolean;
  /** It is out, or its connection has closed. */
  readonly destroyed: boolean;
  /** All of it is with the system. */
  readonly writableFinished: boolean;
  /** Bytes that the system has not taken yet. */
  readonly writableLength: number;
  writeContinue(): void;
  /** `headers`: names and values in turn. Throws if a value cannot be sent. */
  writeHead(status: number, headers: string[]): unknown;
  /** False if the client is behind: `drain` tells when it has caught up. */
  write(bytes: Buffer): boolean;
  end(bytes: string | Buffer): unknown;
  destroy(): unknown;
  /** `close` comes once. */
  on(event: 'close' | 'drain', listener: () => void): this;
  off(event: 'close' | 'drain', listener: () => void): this;
}

/** Why the parser rejected a request. */
export interface ParserError extends NodeJS.ErrnoException {
  /** The bytes in which it found the error. */
  readonly rawPacket?: Buffer;
}

/** The value of the `Expect` header. */
export type Expectation = 'nothing' | 'continue' | 'unknown';

/** `socket` is that of HTTP: under TLS it is wrapped around the one that was accepted. */
export interface ServerEvents {
  /** A connection was accepted. */
  onConnection(socket: Socket): void;
  /** Its TLS handshake is done. */
  onSecured(socket: Socket): void;
  /** The head of a request has arrived. */
  onRequest(request: HttpRequest, response: HttpResponse, expectation: Expectation): void;
  /** A client asked for a tunnel. Nothing more of it is parsed. */
  onConnect(socket: Socket): void;
  /** The parser refused something, a head took too long, or the connection has failed. */
  onClientError(error: ParserError, socket: Socket): void;
  /** A connection was idle for too long, or for longer than its socket was told to bear. */
  onTimeout(socket: Socket): void;
}

export interface ServerOptions {
  /** For a client to send a head, in milliseconds. */
  readonly headMs: number;
  /** How long a client is told that an idle connection stays open, in milliseconds. */
  readonly keepAliveMs: number;
  /** Undefined for plain HTTP. */
  readonly certificate: CertificatePair | undefined;
}
