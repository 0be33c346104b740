/** One request and its response: reads the body, writes the response, detects disconnects. */
import { type ClientError, mayRetry, statusOf } from '../core/errors.ts';
import type { RateFigures } from '../core/limits.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import type { RequestTrace } from '../core/request-trace.ts';
import { type BodyCheck, BodyReader, discardBody, isLong, takeBufferedBody, transferMs } from './body.ts';
import { addRateHeaders, SENT_HEADERS } from './headers.ts';
import type { HttpRequest, HttpResponse } from './server.ts';

/** RFC 9110 requires it with every 401, and some HTTP libraries reject a 401 without it. */
const CHALLENGE = 'Bearer realm="inf-gw"';

/** The error format of a path. */
export interface ErrorFormat {
  /** The body of an error response. */
  errorBody(error: ClientError, requestId: string): string;
  /** The last bytes of a failed stream. */
  streamFailure(error: ClientError, requestId: string): string;
}

/** Converts the events of a stream to another framing. */
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
  /** Maximum gap between two chunks of the body, in milliseconds. */
  readonly requestMs: number;
  /** Maximum time that a client may leave its response unread, in milliseconds. */
  readonly idleMs: number;
  readonly expectsContinue: boolean;
  readonly format: ErrorFormat;
  /** The framing of a stream; undefined for server-sent events. */
  readonly framing: StreamFraming | undefined;
  /** CORS headers of every response, as a flat list of names and values. */
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

  /** The id of the request's key, once the key is known to exist. */
  get keyId(): string | undefined {
    return this.#keyId;
  }

  /** The requested model, safe for logs. */
  get model(): string | undefined {
    return this.#model;
  }

  /** The error that was sent, if any. */
  get error(): ClientError | undefined {
    return this.#error;
  }

  /** Whether the response has rate-limit headers, as all responses under `/v1` do. */
  get showsLimits(): boolean {
    return this.#figures !== undefined;
  }

  /** Sets the values of the rate-limit headers, if the response has them. */
  showLimits(figures: RateFigures): void {
    if (this.showsLimits) this.#figures = figures;
  }

  identifyKey(keyId: string): void {
    this.#keyId = keyId;
  }

  /** Removes the key id, after the key turned out to be deleted. */
  forgetKey(): void {
    this.#keyId = undefined;
  }

  nameModel(model: string | undefined): void {
    this.#model = model;
  }

  /** Sets the model that serves the request, `<provider>/<model>`, for a response header. */
  serveBy(model: string | undefined): void {
    this.#servedModel = model;
  }

  /** Sets the dropped request fields, for a response header. */
  showIgnored(fields: readonly string[]): void {
    this.#ignored = fields;
  }

  /** Marks the response as cached, with its age, for response headers. */
  showCached(ageS: number): void {
    this.#cachedAgeS = ageS;
  }

  /** True if the connection closed before the response was complete. */
  get gone(): boolean {
    return this.#response.destroyed && !this.#response.writableFinished;
  }

  /** Calls back once the response is complete, or its connection has closed. */
  onClose(callback: () => void): void {
    this.#response.on('close', callback);
  }

  /** Calls back once if the client disconnects before the response is complete. */
  onGone(callback: () => void): void {
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) callback();
    });
  }

  /**
   * Returns the body if it has arrived completely, as most bodies have with their headers, and is within the size limit.
   * Otherwise returns undefined and consumes no input.
   */
  bufferedBody(): Buffer | undefined {
    const { maxBodyBytes, expectsContinue } = this.#options;
    const body = expectsContinue ? undefined : takeBufferedBody(this.request, maxBodyBytes);
    if (body !== undefined) this.#hasReadBody = true;
    return body;
  }

  /** Reads the body. A client that sent `Expect: 100-continue` gets its 100 here. */
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

  /** Sends a complete response of another type. */
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

  /** Responds to a CORS preflight. */
  sendPreflight(answer: readonly string[]): void {
    const headers = [...answer];
    this.#addCommonHeaders(headers);
    this.#writeWholeHead(204, headers);
    this.#end('');
  }

  get streamStarted(): boolean {
    return this.#response.headersSent;
  }

  /** Returns the request headers with the given lower-case names. */
  headers(names: readonly string[]): Record<string, string> {
    const found: Record<string, string> = {};
    for (const name of names) {
      const value = this.request.headers[name];
      if (value !== undefined) found[name] = String(value);
    }
    return found;
  }

  /** Sends the headers of a stream of events, or of bytes of type `ofBytes`. */
  startStream(ofBytes?: string): void {
    this.#isOfBytes = ofBytes !== undefined;
    const contentType = ofBytes ?? this.#options.framing?.contentType ?? 'text/event-stream; charset=utf-8';
    const headers = ['Content-Type', contentType, 'Cache-Control', 'no-cache'];
    this.#addCommonHeaders(headers);
    this.#response.writeHead(200, headers);
  }

  /**
   * Sends a chunk of a stream. Returns undefined if the client keeps up; otherwise a promise that resolves when the buffer has
   * drained or the connection has closed.
   */
  writeStream(bytes: Buffer): Promise<void> | undefined {
    const framed = this.#options.framing === undefined ? bytes : this.#options.framing.push(bytes);
    if (this.gone || this.#response.write(framed) || !this.#waitsForReader) return undefined;
    return this.#drained();
  }

  /** Ends backpressure: the short rest of the stream is buffered instead of waiting for the client. */
  stopWaitingForReader(): void {
    this.#waitsForReader = false;
    this.#stopWaiting();
  }

  /** Ends a stream. `end`: its last bytes, including the error event if it failed. */
  endStream(error: ClientError | undefined, end: Buffer): void {
    this.#error = error;
    // A stream of bytes has no error event. A normal end would look like a complete response, so reset the connection.
    if (error !== undefined && this.#isOfBytes) return void this.#response.destroy();
    const { framing } = this.#options;
    this.#end(framing === undefined ? end : Buffer.concat([framing.push(end), framing.end()]));
  }

  /** Ends a stream after an internal error. */
  failStream(error: ClientError): void {
    this.endStream(error, this.streamFailure(error));
  }

  /** Returns the last bytes of a failed stream. */
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

  /** Sends the last bytes. The client has limited time to read them. */
  #end(bytes: string | Buffer): void {
    const response = this.#response;
    response.end(bytes);
    if (response.writableLength === 0) return;
    this.#limitReadTime();
  }

  #limitReadTime(): void {
    const response = this.#response;
    const { idleMs } = this.#options;
    // The socket times out after this long without progress. The timeout is reset before the next request.
    response.socket?.setTimeout(idleMs);
    const timer = new PatientTimer(() => response.destroy(), idleMs + transferMs(response.writableLength));
    response.on('close', () => timer.clear());
  }

  #addCommonHeaders(headers: string[]): void {
    headers.push(SENT_HEADERS.requestId, this.requestId);
    // Only Anthropic's clients send this header.
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
      // Otherwise a client that never reads would hold its slot forever.
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
