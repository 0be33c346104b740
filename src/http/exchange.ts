/** One request and its answer: what is sent, with which headers, and whether the client is still there. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientError, errorBody, statusOf } from '../core/errors.ts';
import type { RateFigures } from '../core/limits.ts';
import { dataEvent } from '../wire/sse.ts';
import { BodyReader, discardBody, takeBufferedBody, transferMs } from './body.ts';
import { addRateHeaders } from './headers.ts';

export interface ExchangeOptions {
  readonly requestId: string;
  /** The path without its query. */
  readonly path: string;
  /** What the rate-limit headers show until more is known; undefined outside `/v1`. */
  readonly figures: RateFigures | undefined;
  readonly maxBodyBytes: number;
  /** Between two pieces of the body. */
  readonly requestMs: number;
  /** How long a client may leave a stream unread, in milliseconds. */
  readonly idleMs: number;
  readonly expectsContinue: boolean;
}

export class Exchange {
  readonly requestId: string;
  readonly path: string;
  readonly request: IncomingMessage;
  /** What the rate-limit headers show. */
  figures: RateFigures | undefined;
  /** For the log: the error that was sent, and what is known of the request. */
  error: ClientError | undefined;
  keyId: string | undefined;
  model: string | undefined;
  /** The model that serves the request, once that is known: `<provider>/<model>`. */
  servedModel: string | undefined;
  readonly #startedAtMs = performance.now();
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  #isHurried = false;
  #onHurry: () => void = () => {};

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.requestId = options.requestId;
    this.path = options.path;
    this.figures = options.figures;
  }

  /** True once the client has closed its connection before the answer was complete. */
  get gone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Calls back once if the client leaves before the answer is complete. */
  onGone(callback: () => void): void {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) callback();
    });
  }

  /**
   * The body where all of it came together with the headers, as that of most requests does, and is no larger than it may
   * be; else undefined, and nothing is taken.
   */
  async bufferedBody(): Promise<Buffer | undefined> {
    // The parser hands the body over in the same turn, once it is done with the headers.
    await undefined;
    const { maxBodyBytes, expectsContinue } = this.#options;
    return expectsContinue ? undefined : takeBufferedBody(this.request, maxBodyBytes);
  }

  /** Reads the body. A client that waits for `100 Continue` gets it only now. */
  readBody(): Promise<Buffer> {
    const { maxBodyBytes, requestMs, expectsContinue } = this.#options;
    const reader = new BodyReader(this.request, maxBodyBytes, requestMs);
    return reader.read(expectsContinue ? () => this.#askForBody() : undefined);
  }

  sendJson(status: number, body: string | Buffer): void {
    this.#send(status, body, []);
  }

  sendError(error: ClientError): void {
    this.error = error;
    const headers: string[] = [];
    if (error.retryAfterS !== undefined) headers.push('Retry-After', String(error.retryAfterS));
    if (error.shouldRetry === false) headers.push('x-should-retry', 'false');
    if (error.allow !== undefined) headers.push('Allow', error.allow);
    if (error.close) this.#response.shouldKeepAlive = false;
    this.#send(statusOf(error), errorBody(error), headers);
  }

  get streamStarted(): boolean {
    return this.#response.headersSent;
  }

  /** Sends the head of a stream. */
  startStream(): void {
    const headers = ['Content-Type', 'text/event-stream; charset=utf-8', 'Cache-Control', 'no-cache'];
    this.#addCommonHeaders(headers);
    this.#response.writeHead(200, headers);
  }

  /** Sends a piece of a stream. Undefined where more can be taken at once; else resolves when it can, or at the end. */
  writeStream(bytes: Buffer): Promise<void> | undefined {
    if (this.gone || this.#response.write(bytes) || this.#isHurried) return undefined;
    return this.#drained();
  }

  /** From here on nothing waits until the client has read: what is left is short, and is kept until it does. */
  stopWaitingForReader(): void {
    this.#isHurried = true;
    this.#onHurry();
  }

  /** Ends a stream with these bytes, and with an error event before them if there is one. */
  endStream(error: ClientError | undefined, end: Buffer): void {
    this.error = error;
    if (error !== undefined) this.#response.write(dataEvent(errorBody(error)));
    this.#end(end);
  }

  /** Since the request's headers were here, in whole milliseconds. */
  get ageMs(): number {
    return Math.round(performance.now() - this.#startedAtMs);
  }

  /** The status that was sent. */
  get status(): number {
    return this.#response.statusCode;
  }

  /** Behind an answer that is still due, Node would put it between the head and the body of what is queued: it waits. */
  #askForBody(): void {
    const response = this.#response;
    if (response.socket !== null) return response.writeContinue();
    response.once('socket', () => {
      if (!response.headersSent) response.writeContinue();
    });
  }

  #send(status: number, body: string | Buffer, more: readonly string[]): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body)), ...more];
    this.#addCommonHeaders(headers);
    this.#response.writeHead(status, headers);
    discardBody(this.request);
    this.#end(body);
  }

  /** Sends the last bytes. What the client does not take at once is not kept for it for ever. */
  #end(bytes: string | Buffer): void {
    const response = this.#response;
    response.end(bytes);
    if (response.writableLength === 0) return;
    // Where an earlier answer is due on the same connection, this one's turn has not come.
    if (response.socket === null) response.once('socket', () => this.#expectReader());
    else this.#expectReader();
  }

  #expectReader(): void {
    const response = this.#response;
    const { idleMs } = this.#options;
    // Node breaks the connection when so long not a byte was taken, and sets a time-out of its own for the next request.
    response.socket?.setTimeout(idleMs);
    const timer = setTimeout(() => response.destroy(), idleMs + transferMs(response.writableLength));
    response.once('close', () => clearTimeout(timer));
  }

  #addCommonHeaders(headers: string[]): void {
    headers.push('X-Request-Id', this.requestId);
    if (this.servedModel !== undefined) headers.push('X-Inf-Gw-Model', this.servedModel);
    if (this.figures !== undefined) addRateHeaders(headers, this.figures);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      // A client that reads nothing at all would hold its slot for ever.
      const timer = setTimeout(() => this.#response.destroy(), this.#options.idleMs);
      const done = () => {
        clearTimeout(timer);
        this.#response.off('drain', done).off('close', done);
        resolve();
      };
      this.#response.once('drain', done).once('close', done);
      this.#onHurry = done;
    });
  }
}
