/** One attempt at an upstream: its response as it arrives, with backpressure, or its failure. */
import type { FailureReason } from '../core/failure.ts';
import { PatientTimer } from '../core/patient-timer.ts';

type Unconnected = 'not_connected' | 'no_socket' | 'not_loaded';

/** The failures of an attempt. If the kind is one of `Unconnected`, the upstream did no work. */
export type FailureKind =
  | Extract<FailureReason, Unconnected | 'first_byte_timeout' | 'idle_timeout' | 'broken' | 'stopped'>
  /** The gateway aborted it: the client hung up, or the process is shutting down. */
  | 'aborted';

/** The reason why an attempt has no complete response. The message is for the log, and may contain addresses. */
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
  /** Set if a header reports the service tier and the body does not. `served`: undefined for the requested tier. */
  readonly tier?: { readonly served: string | undefined };
}

/** The start of a response: its head, or the failure. */
export type Opening = ResponseHead | UpstreamFailure;

/** The connection that feeds an attempt. */
export interface Source {
  pause(): void;
  resume(): void;
  abort(): void;
}

/** The source is paused above this number of buffered bytes. It is less than one read, so a slow reader buffers one read. */
const HIGH_WATER_BYTES = 32 * 1024;

/**
 * Limits on draining a stopped response without a reader. The size covers the receive buffer of a connection (up to 6 MB on
 * Linux), the time covers reading it.
 */
const MAX_STOPPED_BYTES = 8 * 1024 * 1024;
const MAX_STOPPED_MS = 250;
/** The first turn may pass before the resumed connection is read. */
const FIRST_TURNS = 2;
/** A turn that delivers less than about one read has emptied the connection. */
const ONE_READ_BYTES = 60 * 1024;

const NOW = Promise.resolve();

/** Buffers between a source and a reader, and pauses the source while the reader is behind. */
export class Attempt {
  /** True once the upstream may have begun to work. */
  sent = false;
  /** Credentials of this request alone. They must never reach a client. */
  credentials: readonly string[] = [];
  /** From the start of the attempt to the first byte of the response body, in whole milliseconds. */
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
  /** The source was paused, and unread bytes may still wait in the connection. */
  #isBehind = false;
  /** Bytes received since the source was last resumed. */
  #resumedBytes = 0;
  #isStopped = false;
  #onSent: () => void = () => {};
  #onOpened: (opening: Opening) => void = () => {};
  #wake: (() => void) | undefined;

  /** True if the gateway ended the attempt. */
  get wasAborted(): boolean {
    return this.#failure?.kind === 'aborted' || this.#failure?.kind === 'stopped';
  }

  /** True if the end of the attempt is no evidence about the upstream's health. */
  get isInconclusive(): boolean {
    return this.wasAborted || this.#failure?.kind === 'no_socket' || this.#failure?.kind === 'not_loaded';
  }

  /** Resolves when the response begins or the attempt fails. Never rejects. */
  get opened(): Promise<Opening> {
    return this.#opened.promise;
  }

  /** The status and headers of the response. Rejects with an UpstreamFailure. */
  async head(): Promise<ResponseHead> {
    const opening = await this.opened;
    if (opening instanceof UpstreamFailure) throw opening;
    return opening;
  }

  /** The next bytes, or undefined at the end. Rejects with an UpstreamFailure. Supports only one reader at a time. */
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
   * `take` pauses the source and delays the next call. Bytes of one read of the connection are passed on together. Rejects
   * with an UpstreamFailure, or with an error that `take` throws. A read costs one microtask: `next` in a loop costs a chain
   * of promises, which takes as long as parsing a short event.
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

  /** Whether bytes are buffered. Throws the failure if the buffer is empty and no more bytes will arrive. */
  #hasChunk(): boolean {
    if (this.#chunks.length > 0) return true;
    if (this.#failure !== undefined) throw this.#failure;
    if (!this.#ended && this.#resumedBytes > 0 && this.#resumedBytes < ONE_READ_BYTES) this.#isBehind = false;
    return false;
  }

  /** The whole body, if all of it has arrived. Otherwise undefined, and the buffer stays unchanged. */
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

  /** Puts bytes back for another read. No read may be pending. */
  unread(chunks: readonly Buffer[]): void {
    this.#chunks.unshift(...chunks);
  }

  /** Aborts the attempt and closes its connection, which stops the upstream. */
  abort(kind: 'aborted' | 'stopped' = 'aborted'): void {
    this.fail(new UpstreamFailure(kind, kind === 'aborted' ? 'aborted by the gateway' : 'stopped by the operator'));
  }

  /**
   * Drains bytes that have already arrived, without waiting for more, and aborts: the upstream bills all bytes that it has
   * written. If the reader keeps up, the connection is already empty.
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

  /** Reads and discards the rest of the response, for a limited time, so that the connection can be reused. Never rejects. */
  async drain(milliseconds: number): Promise<void> {
    const timer = new PatientTimer(() => this.abort(), milliseconds);
    try {
      while ((await this.next()) !== undefined) {}
    } catch {
      // The connection is closed in this case.
    } finally {
      timer.clear();
    }
  }

  /** Called by the source when the request is sent, so the upstream may start work. */
  begin(source: Source): void {
    this.#source = source;
    if (this.#failure !== undefined) return source.abort();
    this.sent = true;
    this.#onSent();
  }

  /** Calls back once the upstream may have started work. */
  onSent(callback: () => void): void {
    if (this.sent) callback();
    else this.#onSent = callback;
  }

  /** Calls back before `opened` resolves. */
  onOpened(callback: (opening: Opening) => void): void {
    if (this.#opening === undefined) this.#onOpened = callback;
    else callback(this.#opening);
  }

  /** Called by the source when the response headers have arrived. */
  receiveHead(head: ResponseHead): void {
    this.#open(head);
  }

  /** Only the first call counts. */
  #open(opening: Opening): void {
    if (this.#opening !== undefined) return;
    this.#opening = opening;
    this.#onOpened(opening);
    this.#opened.resolve(opening);
  }

  /** Called by the source when a part of the response body has arrived. */
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

  /** Called by the source when the response is complete. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Ends the attempt. Only the first failure counts; buffered bytes can still be read. */
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
