/** What a connection has sent and is not parsed: bounded in bytes, and in requests that have no answers yet. */
import type { Socket } from 'node:net';
import { READ_BYTES } from './linger.ts';
import { inLaterTurn, inSpareTime } from './turns.ts';

/** Common clients send none ahead, or a few. Of more than this many at a time the connection is closed. */
const MAX_UNANSWERED = 16;
/** What may wait behind a request that is being answered. More of it stays with the system. */
export const MAX_WAITING_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);

export class Backlog {
  bytes: Buffer = NOTHING;
  readonly #socket: Socket;
  #isPaused = false;
  #isOver = false;
  /** Too many bytes wait. */
  #isFull = false;
  /** Waits for a later turn of the event loop. */
  #isYielding = false;
  #receivedBytes = 0;
  #receivedAtYield = 0;
  #begun = 0;
  /** How much had been received when each of the last requests was answered. */
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

  /** What follows a last answer is not parsed: nobody would answer it, and it could be smuggled. */
  get isReady(): boolean {
    return !this.#isOver && this.#socket.writable && this.bytes.length > 0;
  }

  /** Nothing more is parsed. */
  stop(): void {
    this.#isOver = true;
    this.bytes = NOTHING;
  }

  /** `isUnneeded`: the bytes will be discarded. Returns false if it is over. */
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

  /** Takes the first bytes. Nothing of what was read is kept once all of it is taken. */
  take(length: number): Buffer {
    const { bytes } = this;
    const isAll = length === bytes.length;
    this.bytes = isAll ? NOTHING : bytes.subarray(length);
    return isAll ? bytes : bytes.subarray(0, length);
  }

  /** A request has begun, and what waits was received behind it. False if it is one too many. */
  begin(): boolean {
    const receivedBefore = this.#receivedAtAnswer[this.#begun % MAX_UNANSWERED] ?? 0;
    const isTooMany = this.#begun >= MAX_UNANSWERED && receivedBefore >= this.#receivedBytes - this.bytes.length;
    if (!isTooMany) this.#begun++;
    return !isTooMany;
  }

  /** The request that began last has got all of its answer. */
  answered(): void {
    this.#receivedAtAnswer[(this.#begun - 1) % MAX_UNANSWERED] = this.#receivedBytes;
  }

  /**
   * Reads on while little waits: only then is a client that leaves noticed before it is written to. `isFull`: no more can be
   * taken for another reason.
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
