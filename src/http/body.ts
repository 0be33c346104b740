/** Reads a request body within limits of size and time, and discards a body that is not needed. */
import { isEncoded } from '../core/content-coding.ts';
import type { ClientError } from '../core/errors.ts';
import { PatientTimer } from '../core/patient-timer.ts';
import { counted } from '../core/plural.ts';
import { MAX_DISCARDED_BYTES } from './linger.ts';
import type { HttpRequest } from './server.ts';

/** The reason why a body is not read, or not read further. */
export interface BodyRefusal {
  readonly error: ClientError;
  /** Reason for the refusal metrics. */
  readonly reason: string;
}

/** Thrown if a body cannot be read. `refusal` is undefined if the client disconnected. */
export class BodyError extends Error {
  override name = 'BodyError';
  readonly refusal: BodyRefusal | undefined;
  constructor(error: ClientError | undefined, reason?: string) {
    super(error?.message ?? 'the client hung up');
    this.refusal = error && { error, reason: reason ?? error.code };
  }
}

/**
 * Checks a body of `bytes`: before reading if its length was declared, and again for each received length. Returns the refusal,
 * if any.
 */
export type BodyCheck = (bytes: number) => BodyRefusal | undefined;

/**
 * Minimum average rate, for a client that sends without long pauses. 4 KB/s is half the rate of the slowest mobile links in use;
 * 32 MB may take two and a quarter hours.
 */
export const MIN_BYTES_PER_SECOND = 4 * 1024;

/** Returns the maximum transfer time at the minimum rate, in milliseconds. */
export function transferMs(bytes: number): number {
  return (bytes / MIN_BYTES_PER_SECOND) * 1_000;
}

/** Time limit for discarding the rest of a short body, in milliseconds. */
const DISCARD_MS = 5_000;

/** Returns the declared body length; 0 if none is declared. */
export function declaredBytes({ headers }: HttpRequest): number {
  return Number(headers['content-length'] ?? 0);
}

export function hasBody(request: HttpRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > 0;
}

/**
 * Reports whether an unread body is too long to discard. A chunked body always is: finding its end takes one call per chunk, and
 * a chunk may have a single byte.
 */
export function isLong(request: HttpRequest): boolean {
  return request.headers['transfer-encoding'] !== undefined || declaredBytes(request) > MAX_DISCARDED_BYTES;
}

/** Reads and discards a short body that the response did not need. Closes the connection if that takes too long. */
export function discardBody(request: HttpRequest): void {
  if (request.complete || request.destroyed) return;
  request.on('error', () => {});
  request.resume();
  // The parser delivers buffered body bytes in the same tick, so at most one of several pipelined requests needs the timer.
  queueMicrotask(() => {
    if (!request.complete) limitDiscardTime(request);
  });
}

function limitDiscardTime(request: HttpRequest): void {
  const { socket } = request;
  if (socket.destroyed) return;
  const timer = new PatientTimer(() => socket.destroy(), DISCARD_MS);
  const stop = () => timer.clear();
  // After the response is sent, a disconnect emits `close` on the socket but not on the request.
  socket.once('close', stop);
  request.once('end', () => {
    stop();
    socket.off('close', stop);
  });
}

/**
 * Returns the complete body if all of it has arrived, uncompressed and at most `maxBytes` long. Otherwise returns undefined and
 * consumes no input.
 */
export function takeBufferedBody(request: HttpRequest, maxBytes: number): Buffer | undefined {
  const { headers, readableLength, complete } = request;
  // The parser sets `complete` only after it has delivered the last chunk.
  const isWhole = complete || Number(headers['content-length']) === readableLength;
  if (!isWhole || isEncoded(request.headers['content-encoding']) || readableLength > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) chunks.push(chunk);
  // Makes the stream emit `end`.
  request.resume();
  return joined(chunks);
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

/** Smaller parts are copied into a shared buffer: each Buffer takes some 100 bytes of its own, and a chunk may have one byte. */
const LEAST_PART_BYTES = 1_024;
const COPIED_PART_BYTES = 8 * 1024;

/** Collects the parts of a body with little memory overhead. */
class Parts {
  readonly #parts: Buffer[] = [];
  /** The buffer for small parts, and its fill level. */
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
        // After a pause of the process, more data may already be waiting in the socket, so check again after it was read.
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
