/** One request and its response: reads the body, writes the response, watches for a hang-up. */
import { type ClientError, mayRetry, statusOf } from '../core/errors.ts';
import type { RateFigures } from '../core/limits.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import type { RequestTrace } from '../core/request-trace.ts';
import { type BodyCheck, BodyReader, discardBody, isLong, takeBufferedBody, transferMs } from './body.ts';
import { addRateHeaders, SENT_HEADERS } from './headers.ts';
import type { HttpRequest, HttpResponse } from './server.ts';

/** RFC 9110 asks for it with every 401, and some HTTP libraries take one without it for a broken response. */
const CHALLENGE = 'Bearer realm="inf-gw"';

/** How clients of a path read errors. */
export interface ErrorFormat {
  /** The body of an error response. */
  errorBody(error: ClientError, requestId: string): string;
  /** The last bytes of a stream that fails. */
  streamFailure(error: ClientError, requestId: string): string;
}

/** Writes the events of a stream in another form. */
export interface StreamFraming {
  readonly contentType: string;
  push(events: Buffer): Buffer;
  end(): Buffer;
}

export interface ExchangeOptions {
  readonly requestId: string;
  /** The path without its query. */
  readonly path: string;
  /** The initial values of the rate-limit headers; undefined outside `/v1`. */
  readonly figures: RateFigures | undefined;
  readonly maxBodyBytes: number;
  /** The longest gap between two chunks of the body, in milliseconds. */
  readonly requestMs: number;
  /** How long a client may go without reading its response, in milliseconds. */
  readonly idleMs: number;
  readonly expectsContinue: boolean;
  readonly format: ErrorFormat;
  /** How the events of a stream are written; undefined for events as they are. */
  readonly framing: StreamFraming | undefined;
  /** For pages of other origins: headers of every response, as a flat list of names and values. */
  readonly cors: readonly string[];
}

export class Exchange {
  readonly requestId: string;
  readonly path: string;
  readonly request: HttpRequest;
  /** Undefined unless traces are configured. */
  trace: RequestTrace | undefined;
  #figures: RateFigures | undefined;
  #error: ClientError | undefined;
  #keyId: string | undefined;
  #model: string | undefined;
  #servedModel: string | undefined;
  #ignored: readonly string[] = [];
  #cachedAgeS: number | undefined;
  #bodyBytes = 0;
  #hasReadBody = false;
  readonly #startedAtMs = performance.now();
  readonly #response: HttpResponse;
  readonly #options: ExchangeOptions;
  #isOfBytes = false;
  #waitsForReader = true;
  #stopWaiting: () => void = () => {};

  constructor(request: HttpRequest, response: HttpResponse, options: ExchangeOptions) {
    this.request = request;
    this.#response = response;
    this.#options = options;
    this.requestId = options.requestId;
    this.path = options.path;
    this.#figures = options.figures;
  }

  /** The id of the key that the request came with, once that is known to exist. */
  get keyId(): string | undefined {
    return this.#keyId;
  }

  /** The model that the request names, as a log can show it. */
  get model(): string | undefined {
    return this.#model;
  }

  /** The error that was sent, if one was. */
  get error(): ClientError | undefined {
    return this.#error;
  }

  /** Whether the response carries the rate-limit headers: everything under `/v1` does. */
  get showsLimits(): boolean {
    return this.#figures !== undefined;
  }

  /** Sets what the rate-limit headers show, if the response carries them. */
  showLimits(figures: RateFigures): void {
    if (this.showsLimits) this.#figures = figures;
  }

  identifyKey(keyId: string): void {
    this.#keyId = keyId;
  }

  /** The key turned out not to exist any more. */
  forgetKey(): void {
    this.#keyId = undefined;
  }

  nameModel(model: string | undefined): void {
    this.#model = model;
  }

  /** Sets the model that serves the request, `<provider>/<model>`, which a header names. */
  serveBy(model: string | undefined): void {
    this.#servedModel = model;
  }

  /** Sets which fields of the request were left out, which a header names. */
  showIgnored(fields: readonly string[]): void {
    this.#ignored = fields;
  }

  /** The answer was given before, so many seconds ago. Headers say so. */
  showCached(ageS: number): void {
    this.#cachedAgeS = ageS;
  }

  /** True once the connection has closed before the response was complete. */
  get gone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Calls back once the response is complete, or its connection has closed. */
  onClose(callback: () => void): void {
    this.#response.on('close', callback);
  }

  /** Calls back once if the client hangs up before the response is complete. */
  onGone(callback: () => void): void {
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) callback();
    });
  }

  /**
   * The body, if all of it has arrived, as it has with the headers for most requests, and is within
   * the size limit. Otherwise undefined, and nothing is consumed.
   */
  bufferedBody(): Buffer | undefined {
    const { maxBodyBytes, expectsContinue } = this.#options;
    const body = expectsContinue ? undefined : takeBufferedBody(this.request, maxBodyBytes);
    if (body !== undefined) this.#hasReadBody = true;
    return body;
  }

  /** Reads the body. Only now does a client that sent `Expect: 100-continue` get its 100. */
  async readBody(check: BodyCheck): Promise<Buffer> {
    const { maxBodyBytes, requestMs, expectsContinue } = this.#options;
    const reader = new BodyReader(this.request, maxBodyBytes, requestMs, check);
    const body = await reader.read(expectsContinue ? () => this.#response.writeContinue() : undefined);
    this.#bodyBytes = body.length;
    this.#hasReadBody = true;
    return body;
  }

  /** The length of the body, if it took several reads; otherwise 0. */
  get bodyBytes(): number {
    return this.#bodyBytes;
  }

  get maxBodyBytes(): number {
    return this.#options.maxBodyBytes;
  }

  sendJson(status: number, body: string | Buffer): void {
    this.#send(status, body, []);
  }

  /** Sends a whole answer of another type. */
  sendBytes(body: Buffer, contentType: string): void {
    this.#send(200, body, [], contentType);
  }

  sendError(error: ClientError): void {
    this.#error = error;
    const headers: string[] = [];
    if (error.retryAfterS !== undefined) headers.push(SENT_HEADERS.retryAfter, String(error.retryAfterS));
    if (!mayRetry(error)) headers.push(SENT_HEADERS.shouldRetry, 'false');
    if (error.allow !== undefined) headers.push('Allow', error.allow);
    if (error.upgrade !== undefined) headers.push('Upgrade', error.upgrade);
    if (statusOf(error) === 401) headers.push('WWW-Authenticate', CHALLENGE);
    if (error.close) this.#response.shouldKeepAlive = false;
    this.#send(statusOf(error), this.#options.format.errorBody(error, this.requestId), headers);
  }

  /** Answers a browser that asks what a page may send. */
  sendPreflight(answer: readonly string[]): void {
    const headers = [...answer];
    this.#addCommonHeaders(headers);
    this.#writeWholeHead(204, headers);
    this.#end('');
  }

  get streamStarted(): boolean {
    return this.#response.headersSent;
  }

  /** The headers of the request that have these names, in lower case. */
  headers(names: readonly string[]): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = this.request.headers[name];
      if (value !== undefined) found[name] = String(value);
    }
    return found;
  }

  /** Sends the headers of a stream: of events, or of bytes of another type. */
  startStream(ofBytes?: string): void {
    this.#isOfBytes = ofBytes !== undefined;
    const contentType = ofBytes ?? this.#options.framing?.contentType ?? 'text/event-stream; charset=utf-8';
    const headers = ['Content-Type', contentType, 'Cache-Control', 'no-cache'];
    this.#addCommonHeaders(headers);
    this.#response.writeHead(200, headers);
  }

  /**
   * Sends a chunk of a stream. Returns undefined if the client keeps up; otherwise a promise that
   * resolves when the buffer has drained or the connection has closed.
   */
  writeStream(bytes: Buffer): Promise<void> | undefined {
    const framed = this.#options.framing === undefined ? bytes : this.#options.framing.push(bytes);
    if (this.gone || this.#response.write(framed) || !this.#waitsForReader) return undefined;
    return this.#drained();
  }

  /**
   * Ends backpressure: the little that is still to come is buffered instead of waiting for the
   * client.
   */
  stopWaitingForReader(): void {
    this.#waitsForReader = false;
    this.#stopWaiting();
  }

  /** Ends a stream. `end`: its last bytes, which tell the client of the error if there is one. */
  endStream(error: ClientError | undefined, end: Buffer): void {
    this.#error = error;
    // Nothing can be said among bytes, and their end would look like that of the whole.
    if (error !== undefined && this.#isOfBytes) return void this.#response.destroy();
    const { framing } = this.#options;
    this.#end(framing === undefined ? end : Buffer.concat([framing.push(end), framing.end()]));
  }

  /** Ends a stream with an error that nobody expected. */
  failStream(error: ClientError): void {
    this.endStream(error, this.streamFailure(error));
  }

  /** The last bytes of a stream that fails. */
  streamFailure(error: ClientError): Buffer {
    return Buffer.from(this.#options.format.streamFailure(error, this.requestId));
  }

  /** Whole milliseconds since the headers arrived. */
  get ageMs(): number {
    return Math.round(performance.now() - this.#startedAtMs);
  }

  /** The status that was sent. */
  get status(): number {
    return this.#response.statusCode;
  }

  #send(status: number, body: string | Buffer, more: readonly string[], contentType = 'application/json'): void {
    if (this.#response.headersSent || this.#response.destroyed) return;
    const headers = ['Content-Type', contentType, 'Content-Length', String(Buffer.byteLength(body)), ...more];
    this.#addCommonHeaders(headers);
    this.#writeWholeHead(status, headers);
    this.#end(body);
  }

  /** Writes the head of a response that is not a stream. The connection ends with the response if an unread body is too long. */
  #writeWholeHead(status: number, headers: string[]): void {
    const response = this.#response;
    if (!this.#hasReadBody && isLong(this.request)) response.shouldKeepAlive = false;
    response.writeHead(status, headers);
    if (response.shouldKeepAlive) discardBody(this.request);
  }

  /** Sends the last bytes. A client that does not read them has limited time to do so. */
  #end(bytes: string | Buffer): void {
    const response = this.#response;
    response.end(bytes);
    if (response.writableLength === 0) return;
    this.#limitReadTime();
  }

  #limitReadTime(): void {
    const response = this.#response;
    const { idleMs } = this.#options;
    // Node closes the connection after this long without progress, and resets the timeout for the
    // next request by itself.
    response.socket?.setTimeout(idleMs);
    const timer = new PatientTimer(() => response.destroy(), idleMs + transferMs(response.writableLength));
    response.on('close', () => timer.clear());
  }

  #addCommonHeaders(headers: string[]): void {
    headers.push(SENT_HEADERS.requestId, this.requestId);
    // Anthropic's clients alone send this header.
    const isAnthropic = this.request.headers['anthropic-version'] !== undefined;
    if (isAnthropic) headers.push(SENT_HEADERS.anthropicRequestId, this.requestId);
    if (this.#servedModel !== undefined) headers.push(SENT_HEADERS.model, this.#servedModel);
    if (this.#ignored.length > 0) headers.push(SENT_HEADERS.ignored, this.#ignored.join(', '));
    if (this.#cachedAgeS !== undefined)
      headers.push(SENT_HEADERS.cache, 'hit', SENT_HEADERS.age, String(this.#cachedAgeS));
    headers.push(...this.#options.cors);
    if (this.#figures !== undefined) addRateHeaders(headers, this.#figures);
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      // A client that never reads would hold its slot forever.
      const timer = new PatientTimer(() => this.#response.destroy(), this.#options.idleMs);
      const done = () => {
        timer.clear();
        this.#response.off('drain', done).off('close', done);
        resolve();
      };
      this.#response.on('drain', done).on('close', done);
      this.#stopWaiting = done;
    });
  }
}
