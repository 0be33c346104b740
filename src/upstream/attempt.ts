/** One attempt at an upstream: its response as it arrives, with backpressure, or its failure. */
import type { FailureReason } from '../core/failure.ts';
import { PatientTimer } from '../core/patient-timer.ts';

type Unconnected = 'not_connected' | 'no_socket' | 'not_loaded';

/** What an attempt can fail with. One that was not connected has not had its upstream begin to work. */
export type FailureKind =
  | Extract<FailureReason, Unconnected | 'first_byte_timeout' | 'idle_timeout' | 'broken' | 'stopped'>
  /** The gateway aborted it: the client hung up, or the process is shutting down. */
  | 'aborted';

/** Why an attempt has no complete response. The message is for the log, and may name addresses. */
export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly kind: FailureKind;
  /** The message without addresses, for the journal. */
  readonly summary: string;
  constructor(kind: FailureKind, message: string, summary = message) {
    super(message);
    this.kind = kind;
    this.summary = summary;
  }
}

/** The status of a response, and the headers that the gateway reads. */
export interface ResponseHead {
  readonly status: number;
  readonly contentType: string;
  /** Whether the body is compressed. */
  readonly isEncoded: boolean;
  /** The unparsed header. */
  readonly retryAfter: string | undefined;
  /** Set where a header reports the service tier, and the body does not. `served`: undefined for the requested tier. */
  readonly tier?: { readonly served: string | undefined };
}

/** How a response begins: with its head, or not at all, and why. */
export type Opening = ResponseHead | UpstreamFailure;

/** The connection that feeds an attempt. */
export interface Source {
  pause(): void;
  resume(): void;
  abort(): void;
}

/**
 * Buffered bytes above which the source is paused: less than one read, so that a slow reader
 * buffers one.
 */
const HIGH_WATER_BYTES = 32 * 1024;

/**
 * What is taken in at most of a response that is stopped while nobody reads it, and for how long: what a system keeps of
 * such a connection (Linux up to 6 MB), and what it takes to read that.
 */
const MAX_STOPPED_BYTES = 8 * 1024 * 1024;
const MAX_STOPPED_MS = 250;
/** The first turn of the event loop may have read what it reads. */
const FIRST_TURNS = 2;
/** A turn that brings less than about one read has brought all that had been waiting. */
const ONE_READ_BYTES = 60 * 1024;

const NOW = Promise.resolve();

/** Buffers between a source and a reader, and pauses the source while the reader is behind. */
export class Attempt {
  /** True once the upstream may have begun to work. */
  sent = false;
  /** Credentials that only its request carries. No client may read them. */
  credentials: readonly string[] = [];
  /**
   * From the start of the attempt to the first byte of the response body, in whole milliseconds.
   */
  firstByteMs: number | undefined;
  readonly #startedAtMs = performance.now();
  #opening: Opening | undefined;
  readonly #opened = Promise.withResolvers<Opening>();
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: UpstreamFailure | undefined;
  #source: Source | undefined;
  #paused = false;
  /** More may wait in the connection than was read of it: the source was paused, and has not brought all that since. */
  #isBehind = false;
  /** How many bytes have arrived since it was last resumed. */
  #resumedBytes = 0;
  #isStopped = false;
  #onSent: () => void = () => {};
  #onOpened: (opening: Opening) => void = () => {};
  #wake: (() => void) | undefined;

  /** True if the gateway ended the attempt. */
  get wasAborted(): boolean {
    return this.#failure?.kind === 'aborted' || this.#failure?.kind === 'stopped';
  }

  /** True if how the attempt ended says nothing about the upstream. */
  get isInconclusive(): boolean {
    return this.wasAborted || this.#failure?.kind === 'no_socket' || this.#failure?.kind === 'not_loaded';
  }

  /** Resolves once the response begins, or is known not to. Never rejects. */
  get opened(): Promise<Opening> {
    return this.#opened.promise;
  }

  /** The status and headers of the response. Rejects with an UpstreamFailure. */
  async head(): Promise<ResponseHead> {
    const opening = await this.opened;
    if (opening instanceof UpstreamFailure) throw opening;
    return opening;
  }

  /**
   * The next bytes, or undefined at the end. Rejects with an UpstreamFailure. Only one reader at a
   * time.
   */
  async next(): Promise<Buffer | undefined> {
    while (!this.#hasChunk()) {
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const chunk = this.#take();
    this.#resume();
    return chunk;
  }

  /**
   * Passes the bytes on as they arrive until `take` returns a result; undefined at the end of the response. A promise from
   * `take` delays the next call, and the source is paused meanwhile. Bytes of one read of the connection are passed on
   * together. Rejects with an UpstreamFailure, or with an error that `take` throws. A read costs one microtask: `next` in a
   * loop costs a chain of promises, which takes as long as the parsing of a short event.
   */
  each<T>(take: (chunk: Buffer) => T | undefined | Promise<T | undefined>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const schedule = (): void => void NOW.then(step);
      const step = (): void => {
        try {
          while (this.#hasChunk()) {
            const chunk = this.#take();
            this.#resume();
            const result = take(chunk);
            if (result instanceof Promise) {
              result.then((later) => (later === undefined ? step() : resolve(later)), reject);
              return;
            }
            if (result !== undefined) return resolve(result);
          }
        } catch (error) {
          return reject(error);
        }
        if (this.#ended) return resolve(undefined);
        this.#wake = schedule;
      };
      step();
    });
  }

  /** Whether bytes are there to take. Throws the failure if there are none and none will come. */
  #hasChunk(): boolean {
    if (this.#chunks.length > 0) return true;
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#ended && this.#resumedBytes > 0 && this.#resumedBytes < ONE_READ_BYTES) this.#isBehind = false;
    return false;
  }

  /** The whole body, if all of it has arrived. Otherwise undefined, and nothing is taken. */
  whole(): Buffer | undefined {
    return this.#ended && this.#failure === undefined ? this.#take() : undefined;
  }

  #take(): Buffer {
    const [first] = this.#chunks;
    const chunk = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#bytes = 0;
    return chunk;
  }

  /** Puts bytes back, to be read again. No read may be pending. */
  unread(chunks: readonly Buffer[]): void {
    this.#chunks.unshift(...chunks);
  }

  /** Aborts the attempt and closes its connection, which tells the upstream to stop. */
  abort(kind: 'aborted' | 'stopped' = 'aborted'): void {
    this.fail(new UpstreamFailure(kind, kind === 'aborted' ? 'aborted by the gateway' : 'stopped by the operator'));
  }

  /**
   * Takes in what has already arrived, without waiting for more, and aborts: the upstream bills what it has written.
   * Where the reader keeps up, nothing is left to take in.
   */
  async stop(kind: 'aborted' | 'stopped' = 'aborted'): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#resume();
    const untilMs = performance.now() + MAX_STOPPED_MS;
    const first = this.#resumedBytes;
    let before = first;
    for (let turn = 1; this.#isBehind && before - first < MAX_STOPPED_BYTES && performance.now() < untilMs; turn++) {
      await new Promise(setImmediate);
      if (turn >= FIRST_TURNS && this.#resumedBytes - before < ONE_READ_BYTES) break;
      before = this.#resumedBytes;
    }
    this.abort(kind);
  }

  /**
   * Reads and discards the rest of the response, for a limited time, so that the connection can be
   * reused. Never rejects.
   */
  async drain(milliseconds: number): Promise<void> {
    const timer = new PatientTimer(() => this.abort(), milliseconds);
    try {
      while ((await this.next()) !== undefined) {}
    } catch {
      // Then the connection is closed.
    } finally {
      timer.clear();
    }
  }

  /** For the source: the request is being sent, so the upstream may begin to work. */
  begin(source: Source): void {
    this.#source = source;
    if (this.#failure !== undefined) return source.abort();
    this.sent = true;
    this.#onSent();
  }

  /** Calls back once the upstream may have begun to work. */
  onSent(callback: () => void): void {
    if (this.sent) callback();
    else this.#onSent = callback;
  }

  /** Calls back before `opened` resolves. */
  onOpened(callback: (opening: Opening) => void): void {
    if (this.#opening === undefined) this.#onOpened = callback;
    else callback(this.#opening);
  }

  /** For the source: the response headers have arrived. */
  receiveHead(head: ResponseHead): void {
    this.#open(head);
  }

  /** Only the first counts. */
  #open(opening: Opening): void {
    if (this.#opening !== undefined) return;
    this.#opening = opening;
    this.#onOpened(opening);
    this.#opened.resolve(opening);
  }

  /** For the source: a part of the response body has arrived. */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    this.firstByteMs ??= Math.round(performance.now() - this.#startedAtMs);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#resumedBytes += chunk.length;
    if (this.#bytes > HIGH_WATER_BYTES && !this.#paused && !this.#isStopped) {
      this.#paused = true;
      this.#isBehind = true;
      this.#source?.pause();
    }
    this.#notify();
  }

  /** For the source: the response is complete. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Ends the attempt. Only the first failure counts; bytes that have arrived can still be read. */
  fail(failure: UpstreamFailure): void {
    if (this.#failure !== undefined || this.#ended) return;
    this.#failure = failure;
    this.#open(failure);
    this.#source?.abort();
    this.#notify();
  }

  #resume(): void {
    if (!this.#paused || this.#failure !== undefined) return;
    this.#paused = false;
    this.#resumedBytes = 0;
    this.#source?.resume();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
