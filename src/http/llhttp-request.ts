/** A request parsed by llhttp: the interface of Node's request without its stream. */
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestHead } from './llhttp.ts';
import type { HttpRequest } from './server.ts';

export interface RequestCallbacks {
  /** Part of the body was read. */
  readonly onRead: () => void;
  /** The body may be parsed from now on. */
  readonly onWanted: () => void;
}

export class LlhttpRequest extends EventEmitter implements HttpRequest {
  readonly socket: Socket;
  readonly method: string;
  readonly url: string;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
  /** Whether the client keeps the connection open after the response. */
  readonly keepAlive: boolean;
  complete = false;
  destroyed = false;
  readableLength = 0;
  /** Whether the body may be parsed. A chunked body waits for `resume`, since each chunk takes a call. */
  isWanted: boolean;
  readonly #callbacks: RequestCallbacks;
  #headers: IncomingHttpHeaders | undefined;
  #parts: Buffer[] = [];
  #isFlowing = false;
  #hasEnded = false;

  constructor(socket: Socket, head: RequestHead, callbacks: RequestCallbacks) {
    super();
    this.socket = socket;
    this.method = head.method;
    this.url = head.url;
    this.httpVersion = head.httpVersion;
    this.rawHeaders = head.rawHeaders;
    this.keepAlive = head.keepAlive;
    this.isWanted = !head.isInChunks;
    this.#callbacks = callbacks;
  }

  get headers(): IncomingHttpHeaders {
    this.#headers ??= headersOf(this.rawHeaders);
    return this.#headers;
  }

  read(): Buffer | null {
    const part = this.#parts.shift();
    if (part === undefined) return null;
    this.readableLength -= part.length;
    this.#callbacks.onRead();
    return part;
  }

  resume(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    // Deferred, so that the caller can attach its other listeners first.
    if (this.#parts.length > 0 || this.complete) process.nextTick(() => this.#flow());
    if (this.isWanted) return;
    this.isWanted = true;
    process.nextTick(this.#callbacks.onWanted);
  }

  /** Adds a received part of the body. */
  push(part: Buffer): void {
    this.#parts.push(part);
    this.readableLength += part.length;
    if (this.#isFlowing) this.#flow();
  }

  /** Marks the body as complete. */
  end(): void {
    this.complete = true;
    if (this.#isFlowing) this.#flow();
  }

  /** Called when the connection has closed. */
  abort(): void {
    if (this.destroyed || this.#hasEnded) return;
    this.destroyed = true;
    this.#parts = [];
    this.emit('close');
  }

  #flow(): void {
    for (let part = this.read(); part !== null; part = this.read()) this.emit('data', part);
    if (!this.complete || this.#hasEnded || this.destroyed) return;
    this.#hasEnded = true;
    this.emit('end');
  }
}

/**
 * If one of these headers is repeated, the first value counts; values of other headers are joined. These are Node's documented
 * rules.
 */
const FIRST_COUNTS: ReadonlySet<string> = new Set([
  ...['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from', 'host', 'if-modified-since'],
  ...['if-unmodified-since', 'last-modified', 'location', 'max-forwards', 'proxy-authorization', 'referer'],
  ...['retry-after', 'server', 'user-agent'],
]);

function headersOf(rawHeaders: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] as string).toLowerCase();
    const value = rawHeaders[i + 1] as string;
    const before = headers[name];
    if (name === 'set-cookie') headers[name] = [...(before ?? []), value];
    else if (before === undefined) headers[name] = value;
    else if (!FIRST_COUNTS.has(name)) headers[name] = `${before}${name === 'cookie' ? '; ' : ', '}${value}`;
  }
  return headers;
}
