/** The unparsed input of a connection: bounded in bytes, and in pipelined requests without a response. */
import type { Socket } from 'node:net';
import { READ_BYTES } from './linger.ts';
import { inLaterTurn, inSpareTime } from './turns.ts';

/** Maximum number of pipelined requests. Common clients send few or none ahead. The connection is closed beyond this. */
const MAX_UNANSWERED = 16;
/** Maximum input buffered behind a request in flight. Further input stays in the socket buffer of the system. */
export const MAX_WAITING_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

export class Backlog {
  bytes: Buffer = NOTHING;
  readonly #socket: Socket;
  #isPaused = false;
  #isOver = false;
  /** Too much input is buffered. */
  #isFull = false;
  /** Reading is paused until a later turn of the event loop. */
  #isYielding = false;
  #receivedBytes = 0;
  #receivedAtYield = 0;
  #begun = 0;
  /** The number of received bytes at each of the last responses. */
  readonly #receivedAtAnswer: number[] = [];

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Input after a last response is never parsed: it would get no response, and could be a smuggled request. */
  get isReady(): boolean {
    return !this.#isOver && this.#socket.writable && this.bytes.length > 0;
  }

  /** Discards the input and stops parsing. */
  stop(): void {
    this.#isOver = true;
    this.bytes = NOTHING;
  }

  /** Appends input. `isUnneeded`: the bytes will be discarded. Returns false after `stop`. */
  receive(chunk: Buffer, isUnneeded = false): boolean {
    if (this.#isOver) return false;
    this.#receivedBytes += chunk.length;
    this.bytes = this.bytes.length === 0 ? chunk : Buffer.concat([this.bytes, chunk]);
    if (this.#receivedBytes - this.#receivedAtYield >= READ_BYTES) this.#yield(isUnneeded);
    return true;
  }

  /** Pauses reading for at least one turn: libuv reads up to 32 times 64 KB of a socket in one turn. */
  #yield(isUnneeded: boolean): void {
    this.#receivedAtYield = this.#receivedBytes;
    if (this.#isYielding) return;
    this.#isYielding = true;
    const later = isUnneeded ? inSpareTime : inLaterTurn;
    later(() => {
      this.#isYielding = false;
      if (!this.#isOver) this.#pauseOrResume();
    });
  }

  /** Takes the first bytes. The last bytes are returned without keeping a reference to their buffer. */
  take(length: number): Buffer {
    const { bytes } = this;
    const isAll = length === bytes.length;
    this.bytes = isAll ? NOTHING : bytes.subarray(length);
    return isAll ? bytes : bytes.subarray(0, length);
  }

  /** Counts a request whose head ends before the buffered input. Returns false if too many requests were pipelined. */
  begin(): boolean {
    const receivedBefore = this.#receivedAtAnswer[this.#begun % MAX_UNANSWERED] ?? 0;
    const isTooMany = this.#begun >= MAX_UNANSWERED && receivedBefore >= this.#receivedBytes - this.bytes.length;
    if (!isTooMany) this.#begun++;
    return !isTooMany;
  }

  /** Records that the last counted request has its complete response. */
  answered(): void {
    this.#receivedAtAnswer[(this.#begun - 1) % MAX_UNANSWERED] = this.#receivedBytes;
  }

  /**
   * Resumes reading while little input is buffered: a disconnect is only noticed while reading. `isFull`: the caller cannot
   * accept more input for another reason.
   */
  bound(isFull = false): void {
    if (this.#isOver) return;
    this.#isFull = isFull || this.bytes.length > MAX_WAITING_BYTES;
    this.#pauseOrResume();
  }

  #pauseOrResume(): void {
    const wasPaused = this.#isPaused;
    this.#isPaused = this.#isFull || this.#isYielding;
    if (this.#isPaused) this.#socket.pause();
    else if (wasPaused) this.#socket.resume();
  }
}
