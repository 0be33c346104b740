/** Reads a request body within limits of size and time, and discards a body that is not needed. */
import { isEncoded } from '../core/content-coding.ts';
import type { ClientError } from '../core/errors.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { counted } from '../core/plural.ts';
import { MAX_DISCARDED_BYTES } from './linger.ts';
import type { HttpRequest } from './server.ts';

/** Why a body is not read, or not read on. */
export interface BodyRefusal {
  readonly error: ClientError;
  /** For the operator's count of refusals. */
  readonly reason: string;
}

/**
 * Thrown when a body cannot be read. `refusal` is undefined if the client hung up.
 */
export class BodyError extends Error {
  override name = 'BodyError';
  readonly refusal: BodyRefusal | undefined;
  constructor(error: ClientError | undefined, reason?: string) {
    super(error?.message ?? 'the client hung up');
    this.refusal = error && { error, reason: reason ?? error.code };
  }
}

/**
 * Asked before a body of `bytes` is read, if its length was declared, and whenever that many have
 * arrived. Returns why it must not be read, or not read on.
 */
export type BodyCheck = (bytes: number) => BodyRefusal | undefined;

/**
 * The minimum average rate, for a client that keeps sending without long pauses. 4 KB/s is half of
 * what the slowest mobile links in use carry; 32 MB may take two and a quarter hours.
 */
export const MIN_BYTES_PER_SECOND = 4 * 1024;

/** The longest that a transfer of this size may take at the minimum rate, in milliseconds. */
export function transferMs(bytes: number): number {
  return (bytes / MIN_BYTES_PER_SECOND) * 1_000;
}

/** Time limit for discarding the rest of a short body, in milliseconds. */
const DISCARD_MS = 5_000;

/** The length of a body that the head of its request declares. */
export function declaredBytes({ headers }: HttpRequest): number {
  return Number(headers['content-length'] ?? 0);
}

export function hasBody(request: HttpRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > 0;
}

/**
 * Whether an unread body is too long to be discarded. A chunked body always is: finding its end takes one call per chunk, and a
 * chunk may have a single byte.
 */
export function isLong(request: HttpRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > MAX_DISCARDED_BYTES;
}

/** Reads and discards a short body that the response did not need. Closes the connection if that takes too long. */
export function discardBody(request: HttpRequest): void {
  if (request.complete || request.destroyed) return;
  request.on('error', () => {});
  request.resume();
  // The parser delivers what it has read of the body in the same tick, so of many requests in one read at most one is left.
  queueMicrotask(() => {
    if (!request.complete) limitDiscardTime(request);
  });
}

function limitDiscardTime(request: HttpRequest): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = new PatientTimer(() => socket.destroy(), DISCARD_MS);
  const stop = () => timer.clear();
  // Once the response is out, the request no longer emits `close` on a hang-up; the socket does.
  socket.once('close', stop);
  request.once('end', () => {
    stop();
    socket.off('close', stop);
  });
}

/**
 * The whole body, if all of it has arrived, uncompressed and at most `maxBytes` long. Otherwise
 * undefined, and nothing is consumed.
 */
export function takeBufferedBody(request: HttpRequest, maxBytes: number): Buffer | undefined {
  const { headers, readableLength, complete } = request;
  // The parser sets `complete` only after it has delivered the last chunk.
  const isWhole = complete || Number(headers['content-length']) === readableLength;
  if (!isWhole || isEncoded(request.headers['content-encoding']) || readableLength > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  // Each read returns one chunk.
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) chunks.push(chunk);
  // Makes the stream emit `end`.
  request.resume();
  return joined(chunks);
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** A smaller part of a body is copied: a buffer takes some 100 bytes beside its own, and a chunk may have one. */
const LEAST_PART_BYTES = 1_024;
const COPIED_PART_BYTES = 8 * 1024;

/** The parts of a body, which take little more memory than their bytes. */
class Parts {
  readonly #parts: Buffer[] = [];
  /** Where small parts are copied to, and how much of it they fill. */
  #copy = Buffer.alloc(0);
  #filled = 0;

  push(part: Buffer): void {
    if (part.length < LEAST_PART_BYTES) return this.#add(part);
    this.#endCopy();
    this.#parts.push(part);
  }

  whole(): Buffer {
    this.#endCopy();
    return joined(this.#parts);
  }

  #add(part: Buffer): void {
    if (this.#filled + part.length > this.#copy.length) {
      this.#endCopy();
      this.#copy = Buffer.allocUnsafeSlow(COPIED_PART_BYTES);
    }
    this.#filled += part.copy(this.#copy, this.#filled);
  }

  #endCopy(): void {
    if (this.#filled > 0) this.#parts.push(this.#copy.subarray(0, this.#filled));
    this.#copy = this.#copy.subarray(this.#filled);
    this.#filled = 0;
  }
}

export class BodyReader {
  readonly #request: HttpRequest;
  readonly #maxBytes: number;
  readonly #requestMs: number;
  readonly #check: BodyCheck;

  constructor(request: HttpRequest, maxBytes: number, requestMs: number, check: BodyCheck) {
    this.#request = request;
    this.#maxBytes = maxBytes;
    this.#requestMs = requestMs;
    this.#check = check;
  }

  /**
   * Reads the whole body. `sendContinue` is called before any of it is read. Throws a BodyError.
   */
  async read(sendContinue?: () => void): Promise<Buffer> {
    if (isEncoded(this.#request.headers['content-encoding'])) {
      const message = 'Compressed request bodies are not supported. Send the body without Content-Encoding.';
      throw new BodyError({ code: 'invalid_request', message });
    }
    const error = this.#problemOf(declaredBytes(this.#request));
    if (error !== undefined) throw error;
    sendContinue?.();
    return takeBufferedBody(this.#request, this.#maxBytes) ?? this.#collect();
  }

  #collect(): Promise<Buffer> {
    const request = this.#request;
    if (request.destroyed) return Promise.reject(new BodyError(undefined));
    return new Promise((resolve, reject) => {
      const parts = new Parts();
      let length = 0;
      const startedAtMs = performance.now();
      const timer = new PatientTimer(() => finish(this.#stalled()), this.#requestMs);
      const isTooSlow = () => performance.now() - startedAtMs > this.#requestMs + transferMs(length);
      let look: NodeJS.Immediate | undefined;
      const lookOnce = () => {
        look = undefined;
        if (isTooSlow()) finish(this.#tooSlow());
      };
      const onData = (chunk: Buffer) => {
        timer.refresh();
        parts.push(chunk);
        length += chunk.length;
        const error = this.#problemOf(length);
        if (error !== undefined) finish(error);
        // More may wait to be read, where the process stood still.
        else if (isTooSlow()) look ??= setImmediate(lookOnce);
      };
      const onEnd = () => finish(undefined);
      const onClose = () => finish(new BodyError(undefined));
      const finish = (error: BodyError | undefined) => {
        timer.clear();
        clearImmediate(look);
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        if (error !== undefined) reject(error);
        else resolve(parts.whole());
      };
      request.on('data', onData).on('end', onEnd).on('close', onClose);
      request.on('error', () => {});
      request.resume();
    });
  }

  #problemOf(length: number): BodyError | undefined {
    if (length > this.#maxBytes) return this.#tooLarge();
    const refusal = this.#check(length);
    return refusal && new BodyError(refusal.error, refusal.reason);
  }

  #tooLarge(): BodyError {
    return new BodyError(bodyTooLarge(this.#maxBytes));
  }

  #stalled(): BodyError {
    return requestTimeout(`Timed out: no body data was received for ${this.#requestMs} ms.`);
  }

  #tooSlow(): BodyError {
    return requestTimeout(`Timed out: the body was received at less than ${MIN_BYTES_PER_SECOND} bytes per second.`);
  }
}

export function bodyTooLarge(maxBytes: number): ClientError {
  const message = `The request body exceeds the limit of ${counted(maxBytes, 'byte')}.`;
  return { code: 'invalid_request', status: 413, message };
}

function requestTimeout(message: string): BodyError {
  return new BodyError({ code: 'invalid_request', status: 408, message, close: true });
}
