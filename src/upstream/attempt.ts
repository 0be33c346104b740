/** One attempt at an upstream: its answer as it comes in, or the way in which it failed. */

export type FailureKind =
  /** No connection was made: the upstream cannot have begun to work. */
  | 'not_connected'
  | 'first_byte_timeout'
  | 'idle_timeout'
  /** The connection broke, or what came over it was no HTTP. */
  | 'broken'
  /** The gateway itself gave up: the client is gone, or the process ends. */
  | 'aborted'
  /** The operator has stopped it. */
  | 'stopped';

/** An attempt that brought no complete answer. Its message is for the log. */
export class UpstreamFailure extends Error {
  override name = 'UpstreamFailure';
  readonly kind: FailureKind;
  constructor(kind: FailureKind, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The head of an answer. */
export interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  /** Undefined where the body is not compressed. */
  readonly contentEncoding: string | undefined;
  /** As it came. */
  readonly retryAfter: string | undefined;
}

/** Someone who can hold the bytes back at their source. */
interface Source {
  pause(): void;
  resume(): void;
  abort(): void;
}

/** How much is taken in before the source is held back: less than one read, so that a reader that is slow costs one. */
const HIGH_WATER_BYTES = 32 * 1024;

/** Takes bytes from a source at its pace, and hands them out at the reader's. */
export class Attempt {
  /** True once the upstream may have begun to work. */
  sent = false;
  /** From the beginning of the attempt to the first byte of an answer, in whole milliseconds. */
  firstByteMs: number | undefined;
  readonly #beganAtMs = performance.now();
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #ended = false;
  #failure: UpstreamFailure | undefined;
  #source: Source | undefined;
  #held = false;
  #onSent: () => void = () => {};
  #wake: (() => void) | undefined;

  constructor() {
    // A failure may come before anybody asks for the head.
    this.#head.promise.catch(() => {});
  }

  /** True where the gateway itself ended it: that says nothing of the upstream. */
  get wasAborted(): boolean {
    return this.#failure?.kind === 'aborted' || this.#failure?.kind === 'stopped';
  }

  /** The head of the answer. Rejects with an UpstreamFailure. */
  head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /** The next bytes, or undefined at the end. Throws an UpstreamFailure. One reader at a time. */
  async next(): Promise<Buffer | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const chunk = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks.length = 0;
    this.#bytes = 0;
    if (this.#held && this.#failure === undefined) {
      this.#held = false;
      this.#source?.resume();
    }
    return chunk;
  }

  /** Gives up: nothing more is read, and the upstream is told by a broken connection. */
  abort(kind: 'aborted' | 'stopped' = 'aborted'): void {
    this.fail(new UpstreamFailure(kind, kind === 'aborted' ? 'given up by the gateway' : 'stopped by the operator'));
  }

  /**
   * Reads what is left and forgets it, for a short while, so that the connection can be used again. Resolves with whether
   * the answer came to its end.
   */
  async drain(milliseconds: number): Promise<boolean> {
    const timer = setTimeout(() => this.abort(), milliseconds);
    try {
      while ((await this.next()) !== undefined) {}
      return true;
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
  }

  /** For the source: from here on the upstream may work. */
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

  /** For the source. */
  answer(head: AnswerHead): void {
    this.#head.resolve(head);
  }

  /** For the source. */
  push(chunk: Buffer): void {
    if (this.#failure !== undefined) return;
    this.firstByteMs ??= Math.round(performance.now() - this.#beganAtMs);
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > HIGH_WATER_BYTES && !this.#held) {
      this.#held = true;
      this.#source?.pause();
    }
    this.#notify();
  }

  /** For the source. */
  end(): void {
    this.#ended = true;
    this.#notify();
  }

  /** Ends the attempt; only the first failure counts. Bytes that are here already can still be read. */
  fail(failure: UpstreamFailure): void {
    if (this.#failure !== undefined || this.#ended) return;
    this.#failure = failure;
    this.#head.reject(failure);
    this.#source?.abort();
    this.#notify();
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
