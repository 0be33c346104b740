/** The response to a request that llhttp has read: the bytes that Node's own response would be, in as few writes as possible. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../core/node-http.ts';
import type { LlhttpRequest } from './llhttp-request.ts';
import type { HttpResponse } from './server.ts';

/** Up to so many bytes go out in one string with what is before them, which takes less than two writes. */
const MAX_JOINED_BYTES = 12 * 1024;
/** What no header value may have: it could end the line. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

export interface ResponseTerms {
  /** Whether it waits for a 100 before it sends the body. */
  readonly expectsContinue: boolean;
  /** Tells the client how long an idle connection stays open, in milliseconds. */
  readonly keepAliveMs: number;
}

export class LlhttpResponse extends EventEmitter implements HttpResponse {
  readonly req: LlhttpRequest;
  shouldKeepAlive: boolean;
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableFinished = false;
  /** Nothing follows it on its connection. Known once the head is. */
  isLast = false;
  readonly #connection: Socket;
  readonly #terms: ResponseTerms;
  readonly #onOut: () => void;
  #hasContinued = false;
  /** The head, until it is written. */
  #head = '';
  #isInChunks = false;
  #hasBody = true;
  #hasEnded = false;
  #isClosed = false;

  /** `onOut`: all of it is with the system. */
  constructor(request: LlhttpRequest, terms: ResponseTerms, onOut: () => void) {
    super();
    this.req = request;
    this.#connection = request.socket;
    this.#terms = terms;
    this.#onOut = onOut;
    this.shouldKeepAlive = request.keepAlive;
  }

  get socket(): Socket | null {
    return this.#isClosed ? null : this.#connection;
  }

  get writableLength(): number {
    return this.#isClosed ? 0 : this.#connection.writableLength;
  }

  writeContinue(): void {
    this.#hasContinued = true;
    if (this.#connection.writable) this.#connection.write('HTTP/1.1 100 Continue\r\n\r\n', 'latin1');
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (this.headersSent) throw new Error('the response has a head already');
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
    let hasLength = false;
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string;
      const value = headers[i + 1] as string;
      if (UNSENDABLE.test(value)) throw new TypeError(`the value of the header ${name} cannot be sent`);
      if (name === 'Content-Length') hasLength = true;
      head += `${name}: ${value}\r\n`;
    }
    this.statusCode = status;
    this.headersSent = true;
    this.#hasBody = this.req.method !== 'HEAD' && status !== 204 && status !== 304;
    this.#head = `${head}Date: ${httpDate()}\r\n${this.#framing(hasLength)}\r\n`;
  }

  /** How the client learns where the body ends, and whether the connection stays. */
  #framing(hasLength: boolean): string {
    const { expectsContinue, keepAliveMs } = this.#terms;
    // The body may be on its way all the same.
    if (expectsContinue && !this.#hasContinued) this.shouldKeepAlive = false;
    const knowsChunks = this.req.httpVersion === '1.1' || /(?:^|\W)chunked(?:$|\W)/i.test(String(this.req.headers.te));
    const isKept = this.shouldKeepAlive && (hasLength || knowsChunks);
    const isInChunks = !hasLength && this.#hasBody && knowsChunks;
    this.isLast = !isKept;
    this.#isInChunks = isInChunks;
    const connection = isKept
      ? `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n`
      : 'Connection: close\r\n';
    return isInChunks ? `${connection}Transfer-Encoding: chunked\r\n` : connection;
  }

  write(bytes: Buffer): boolean {
    // What follows on the connection is the next response.
    if (this.#hasEnded) return true;
    // The client has left, and the connection is about to close.
    if (!this.#connection.writable) return false;
    const before = this.#head;
    this.#head = '';
    if (!this.#hasBody || bytes.length === 0) return before === '' || this.#connection.write(before, 'latin1');
    return this.#isInChunks ? this.#send(before + sizeLine(bytes), bytes, '\r\n') : this.#send(before, bytes, '');
  }

  end(last: string | Buffer): void {
    if (this.#hasEnded || !this.#connection.writable) return;
    this.#hasEnded = true;
    const before = this.#head;
    this.#head = '';
    const bytes = this.#hasBody ? bufferOf(last) : NOTHING;
    const onSent = (error?: Error | null) => {
      if (error == null) this.#finish();
    };
    const chunk = this.#isInChunks && bytes.length > 0;
    const end = this.#isInChunks ? `${chunk ? '\r\n' : ''}0\r\n\r\n` : '';
    this.#send(chunk ? before + sizeLine(bytes) : before, bytes, end, onSent);
  }

  /** Sends these three as one. False if the client is behind. */
  #send(before: string, bytes: Buffer, after: string, onSent?: (error?: Error | null) => void): boolean {
    const socket = this.#connection;
    if (bytes.length <= MAX_JOINED_BYTES)
      return socket.write(`${before}${bytes.toString('latin1')}${after}`, 'latin1', onSent);
    socket.cork();
    if (before !== '') socket.write(before, 'latin1');
    let keepsUp = socket.write(bytes, after === '' ? onSent : undefined);
    if (after !== '') keepsUp = socket.write(after, 'latin1', onSent);
    socket.uncork();
    return keepsUp;
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.destroyed = true;
    this.#connection.destroy();
  }

  /** It is out, or its connection has closed. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.destroyed = true;
    this.emit('close');
  }

  #finish(): void {
    if (this.#isClosed) return;
    this.writableFinished = true;
    this.#onOut();
    this.close();
  }
}

const NOTHING = Buffer.alloc(0);

function bufferOf(bytes: string | Buffer): Buffer {
  return typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
}

function sizeLine(bytes: Buffer): string {
  return `${bytes.length.toString(16)}\r\n`;
}

let dateAtS = 0;
let dateText = '';

/** To the second, as HTTP writes it. */
function httpDate(): string {
  const nowMs = Date.now();
  const nowS = Math.floor(nowMs / 1_000);
  if (nowS !== dateAtS) {
    dateAtS = nowS;
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}
