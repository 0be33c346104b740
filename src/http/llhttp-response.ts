/** The response to a request parsed by llhttp: the same bytes as Node's response, in as few writes as possible. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { STATUS_CODES } from '../core/node-http.ts';
import type { LlhttpRequest } from './llhttp-request.ts';
import type { HttpResponse } from './server.ts';

/** Bodies up to this size are sent in one string with the preceding bytes, which is faster than two writes. */
const MAX_JOINED_BYTES = 12 * 1024;
/** Characters that a header value must not contain: they could end the line. */
const UNSENDABLE = /[^\t\x20-\x7e\x80-\xff]/;

export interface ResponseTerms {
  /** Whether the client waits for a 100 before it sends the body. */
  readonly expectsContinue: boolean;
  /** The advertised time that an idle connection stays open, in milliseconds. */
  readonly keepAliveMs: number;
}

export class LlhttpResponse extends EventEmitter implements HttpResponse {
  readonly req: LlhttpRequest;
  shouldKeepAlive: boolean;
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableFinished = false;
  /** Whether the connection closes after this response. Valid once the head is written. */
  isLast = false;
  readonly #connection: Socket;
  readonly #terms: ResponseTerms;
  readonly #onOut: () => void;
  #hasContinued = false;
  /** The head, until it is sent. */
  #head = '';
  #isInChunks = false;
  #hasBody = true;
  #hasEnded = false;
  #isClosed = false;

  /** `onOut` is called when the system has accepted the complete response. */
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

  /** Returns the headers that delimit the body and determine whether the connection stays open. */
  #framing(hasLength: boolean): string {
    const { expectsContinue, keepAliveMs } = this.#terms;
    // The client may send the body without waiting for the 100.
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
    // Further bytes would become part of the next response.
    if (this.#hasEnded) return true;
    // The client has disconnected, and the connection is about to close.
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

  /** Sends the three parts in one write. Returns false if the client falls behind. */
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

  /** Called when the response is sent or its connection has closed. */
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

/** Returns the current HTTP date, cached for a second. */
function httpDate(): string {
  const nowMs = Date.now();
  const nowS = Math.floor(nowMs / 1_000);
  if (nowS !== dateAtS) {
    dateAtS = nowS;
    dateText = new Date(nowMs).toUTCString();
  }
  return dateText;
}
