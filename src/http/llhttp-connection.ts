/**
 * One connection of a server on llhttp. Requests are parsed one at a time: the next one after the response to the previous one.
 */
import type { Socket } from 'node:net';
import { Backlog } from './backlog.ts';
import { declaredBytes } from './body.ts';
import { linger } from './linger.ts';
import { HttpParser, type RequestHead } from './llhttp.ts';
import { LlhttpRequest } from './llhttp-request.ts';
import { LlhttpResponse } from './llhttp-response.ts';
import { MAX_HEADER_BYTES } from './malformed.ts';
import type { Expectation, ParserError, ServerEvents } from './server.ts';
import { inLaterTurn } from './turns.ts';

/** Time limits of connections, in milliseconds. */
export interface ConnectionTimes {
  readonly headMs: number;
  readonly keepAliveMs: number;
}

/** Margin beyond the advertised keep-alive time, so that clients close an idle connection first. As in Node. */
const KEEP_ALIVE_MARGIN_MS = 1_000;
/** Maximum unread body bytes. Further bytes stay in the socket buffer of the system. As in Node. */
const MAX_UNREAD_BYTES = 64 * 1024;

export class LlhttpConnection {
  readonly socket: Socket;
  readonly #events: ServerEvents;
  readonly #times: ConnectionTimes;
  readonly #parser = new HttpParser(MAX_HEADER_BYTES);
  readonly #backlog: Backlog;
  /** The current request, until it is complete and its response is sent. */
  #request: LlhttpRequest | undefined;
  /** The response to that request, until it is sent. */
  #response: LlhttpResponse | undefined;
  #hasServed = false;
  /** When waiting for the current head began; undefined while no head is expected. */
  #headSinceMs: number | undefined = performance.now();
  #idleSinceMs: number | undefined;

  /** `times` may change during the connection. */
  constructor(socket: Socket, events: ServerEvents, times: ConnectionTimes) {
    this.socket = socket;
    this.#events = events;
    this.#times = times;
    this.#backlog = new Backlog(socket);
    socket.on('data', (chunk: Buffer) => {
      if (this.#backlog.receive(chunk, this.#isDiscarding)) this.#advance();
    });
    socket.on('drain', () => this.#response?.emit('drain'));
    socket.on('timeout', () => events.onTimeout(socket));
    socket.on('end', () => this.#onEnd());
    socket.on('close', () => this.#onClose());
    let hasFailed = false;
    socket.on('error', (error) => {
      if (!hasFailed) events.onClientError(error, socket);
      hasFailed = true;
    });
  }

  /** The connection has served a request and has no request in progress. */
  get isIdle(): boolean {
    const isBusy = this.#request !== undefined || this.#parser.isInMessage || this.#backlog.bytes.length > 0;
    return this.#hasServed && !isBusy;
  }

  /** Stops parsing. */
  stop(): void {
    this.#backlog.stop();
  }

  /** Enforces the timeouts. */
  check(nowMs: number): void {
    if (this.#backlog.isOver) return;
    const { headMs, keepAliveMs } = this.#times;
    if (nowMs - (this.#headSinceMs ?? nowMs) > headMs) {
      this.#headSinceMs = undefined;
      this.#events.onClientError(errorOf('ERR_HTTP_REQUEST_TIMEOUT'), this.socket);
    } else if (nowMs - (this.#idleSinceMs ?? nowMs) > keepAliveMs + KEEP_ALIVE_MARGIN_MS) {
      this.#events.onTimeout(this.socket);
    }
  }

  /** Whether incoming bytes belong to the body of a request that already has its response. */
  get #isDiscarding(): boolean {
    return this.#request !== undefined && this.#response === undefined;
  }

  #advance(): void {
    while (this.#backlog.isReady && !this.#waits) this.#parse();
    this.#bound();
  }

  /** Parsing waits for the response to a complete request, or for a reader of its body. */
  get #waits(): boolean {
    return this.#request !== undefined && (this.#request.complete || !this.#request.isWanted);
  }

  #parse(): void {
    const { bytes } = this.#backlog;
    const { length, head, body, isComplete, fault } = this.#parser.execute(bytes);
    this.#backlog.take(length);
    if (head !== undefined && !this.#begin(head)) return;
    const request = this.#request;
    if (body !== undefined) request?.push(body);
    if (isComplete) request?.end();
    if (head !== undefined) this.#announce();
    if (fault !== undefined) this.#fail(fault, bytes);
    if (request !== undefined) this.#release();
    else if (this.#parser.isInMessage) this.#awaitHead();
  }

  /** Starts the request of a head. Returns false if the request is not served. */
  #begin(head: RequestHead): boolean {
    this.#headSinceMs = undefined;
    this.#idleSinceMs = undefined;
    if (head.method === 'CONNECT') {
      this.stop();
      this.#events.onConnect(this.socket);
      return false;
    }
    if (!this.#backlog.begin()) {
      this.socket.destroy();
      return false;
    }
    this.#request = new LlhttpRequest(this.socket, head, { onRead: this.#onRead, onWanted: this.#onWanted });
    return true;
  }

  #announce(): void {
    const request = this.#request as LlhttpRequest;
    const expectation = expectationOf(request);
    const terms = { expectsContinue: expectation === 'continue', keepAliveMs: this.#times.keepAliveMs };
    this.#response = new LlhttpResponse(request, terms, this.#onOut);
    this.#events.onRequest(request, this.#response, expectation);
  }

  readonly #onOut = (): void => {
    const { isLast } = this.#response as LlhttpResponse;
    this.#response = undefined;
    this.#hasServed = true;
    this.#backlog.answered();
    if (isLast) return this.#close();
    if (this.socket.timeout) this.socket.setTimeout(0);
    // Discard the rest of its body.
    this.#request?.resume();
    this.#idleSinceMs = performance.now();
    this.#release();
    // Yield to other connections between two requests of this one.
    if (this.#backlog.bytes.length > 0) inLaterTurn(() => this.#advance());
  };

  /** Closes the connection after its last response. */
  #close(): void {
    const request = this.#request as LlhttpRequest;
    const isSending = !request.complete || this.#backlog.bytes.length > 0;
    this.stop();
    if (isSending) linger(this.socket, declaredBytes(request));
    else this.socket.destroySoon();
  }

  /** Releases the request once it is complete and its response is sent. The next request can then begin. */
  #release(): void {
    if (this.#request?.complete && this.#response === undefined) this.#request = undefined;
  }

  /** Starts the timeout of an incomplete head. */
  #awaitHead(): void {
    this.#headSinceMs ??= performance.now();
    this.#idleSinceMs = undefined;
  }

  #bound(): void {
    this.#backlog.bound((this.#request?.readableLength ?? 0) > MAX_UNREAD_BYTES);
  }

  readonly #onRead = (): void => {
    if (this.#backlog.isPaused) this.#bound();
  };

  readonly #onWanted = (): void => this.#advance();

  #fail(code: string, rawPacket?: Buffer): void {
    this.stop();
    this.#events.onClientError(errorOf(code, rawPacket), this.socket);
  }

  /** Closes the connection when the client closes its half, as Node does. */
  #onEnd(): void {
    if (this.#backlog.isOver || this.#parser.finish()) this.socket.end();
    else this.#fail('HPE_INVALID_EOF_STATE');
  }

  #onClose(): void {
    this.stop();
    this.#parser.free();
    this.#request?.abort();
    this.#response?.close();
  }
}

const CONTINUE = /(?:^|\W)100-continue(?:$|\W)/i;

function expectationOf({ httpVersion, headers: { expect } }: LlhttpRequest): Expectation {
  if (expect === undefined || httpVersion !== '1.1') return 'nothing';
  return CONTINUE.test(expect) ? 'continue' : 'unknown';
}

function errorOf(code: string, rawPacket?: Buffer): ParserError {
  return Object.assign(new Error(code), { code, ...(rawPacket && { rawPacket }) });
}
