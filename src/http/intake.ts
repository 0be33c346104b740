/**
 * What a connection has sent, on its way to Node's parser: one request at a time. Node parses all that one read holds
 * before anything else runs, and keeps it until its own turn ends: 1,820 requests in 64 KB, on each of 400 connections.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/**
 * A client may send its next requests before it has its answer; common ones send none, or a few. Of more than this many
 * at a time the connection is closed.
 */
const MAX_UNANSWERED = 16;
/** What may wait behind a request that is being answered. More of it stays with the system. */
const MAX_WAITING_BYTES = 64 * 1024;
/** What ends a head, and a body in chunks. The parser takes no other line ends. */
const BLANK_LINE = Buffer.from('\r\n\r\n');
/** What the end of a piece may be the beginning of. */
const PARTS_OF_BLANK_LINE = ['\r\n\r', '\r\n', '\r'];
/** Of the shortest head that the parser takes, `GET /`, before its blank line. */
const SHORTEST_HEAD_BYTES = 5;

const NOTHING = Buffer.alloc(0);

export class Intake {
  readonly #socket: Socket;
  /** Node's own listener. */
  readonly #parse: (piece: Buffer) => void;
  #waiting: Buffer = NOTHING;
  #receivedBytes = 0;
  #isInHead = false;
  /** The request whose head was parsed last, until it has arrived and is answered. */
  #request: IncomingMessage | undefined;
  #isAnswered = false;
  /** What is to come of its body. Infinity where its length is not declared. */
  #bodyBytes = 0;
  #isPaused = false;
  #isOver = false;
  #begun = 0;
  /** How much had been received when each of the last requests was answered. */
  readonly #receivedAtAnswer: number[] = [];

  /** To be called once Node listens to the socket, before anything has been read. */
  constructor(socket: Socket) {
    this.#socket = socket;
    const [parse] = socket.listeners('data');
    this.#parse = parse as (piece: Buffer) => void;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
  }

  /** A request has begun: its head was parsed. False if it is one too many, or not the only one of its piece. */
  begin(request: IncomingMessage): boolean {
    const receivedBefore = this.#receivedAtAnswer[this.#begun % MAX_UNANSWERED] ?? 0;
    const isTooMany = this.#begun >= MAX_UNANSWERED && receivedBefore >= this.#parsedBytes;
    if (isTooMany || this.#request !== undefined) return false;
    this.#begun++;
    this.#request = request;
    this.#isAnswered = false;
    this.#bodyBytes = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    return true;
  }

  /** The request has got all of its answer. */
  answered(): void {
    this.#isAnswered = true;
    this.#release();
    this.#receivedAtAnswer[(this.#begun - 1) % MAX_UNANSWERED] = this.#receivedBytes;
    // Other connections have their turn between two requests of this one.
    if (this.#waiting.length > 0) setImmediate(() => this.#advance());
  }

  /** Whether a whole request has arrived that is not answered. */
  get isAnswering(): boolean {
    return this.#request?.complete === true && !this.#isAnswered;
  }

  /** Nothing more is parsed. */
  stop(): void {
    this.#isOver = true;
    this.#waiting = NOTHING;
  }

  get #parsedBytes(): number {
    return this.#receivedBytes - this.#waiting.length;
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#receivedBytes += chunk.length;
    this.#waiting = this.#waiting.length === 0 ? chunk : Buffer.concat([this.#waiting, chunk]);
    this.#advance();
  }

  #advance(): void {
    while (this.#mayParse()) {
      const length = this.#pieceBytes();
      if (length === 0) break;
      const waiting = this.#waiting;
      const isAll = length === waiting.length;
      // Nothing of what was read is kept once it is parsed.
      this.#waiting = isAll ? NOTHING : waiting.subarray(length);
      this.#parse(isAll ? waiting : waiting.subarray(0, length));
      this.#release();
    }
    this.#bound();
  }

  #release(): void {
    if (this.#request?.complete && this.#isAnswered) this.#request = undefined;
  }

  /** What follows a last answer is not parsed: nobody would answer it, and it could be smuggled. */
  #mayParse(): boolean {
    return !this.#isOver && this.#socket.writable && !this.isAnswering && this.#waiting.length > 0;
  }

  /** How much can be parsed without the beginning of another request: all of a body, or up to a blank line. */
  #pieceBytes(): number {
    const waiting = this.#waiting;
    if (this.#request !== undefined && this.#bodyBytes > 0 && this.#bodyBytes < Number.POSITIVE_INFINITY) {
      const length = Math.min(waiting.length, this.#bodyBytes);
      this.#bodyBytes -= length;
      return length;
    }
    const isAtStart = this.#request === undefined && !this.#isInHead;
    const end = waiting.indexOf(BLANK_LINE, isAtStart ? SHORTEST_HEAD_BYTES : 0);
    this.#isInHead = this.#request === undefined && end < 0;
    if (end >= 0) return end + BLANK_LINE.length;
    const tail = waiting.toString('latin1', Math.max(0, waiting.length - BLANK_LINE.length));
    return waiting.length - (PARTS_OF_BLANK_LINE.find((part) => tail.endsWith(part))?.length ?? 0);
  }

  /** Reads on while little waits: only then is a client that leaves noticed before it is written to. */
  #bound(): void {
    const isTooMuch = this.#waiting.length > MAX_WAITING_BYTES;
    if (isTooMuch) this.#socket.pause();
    else if (this.#isPaused) this.#socket.resume();
    this.#isPaused = isTooMuch;
  }
}
