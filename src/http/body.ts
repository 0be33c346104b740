/** A request's body, within bounds of size and time; and what becomes of a body that nobody wants. */
import type { IncomingMessage } from 'node:http';
import type { ClientError } from '../core/errors.ts';

/** Thrown when a body cannot be had. `error` is for the client; undefined where there is no client any more. */
export class BodyError extends Error {
  override name = 'BodyError';
  readonly error: ClientError | undefined;
  constructor(error: ClientError | undefined) {
    super(error?.message ?? 'the client left');
    this.error = error;
  }
}

/**
 * A client that goes on sending, and never pauses for long, must keep to this on average: 4 KB a second. It is half of
 * what the slowest mobile lines in use carry; 32 MB may take two hours and a quarter.
 */
export const MIN_BYTES_PER_SECOND = 4 * 1024;

/** How long so many bytes may be on their way, in milliseconds, beside a time for everything else. */
export function transferMs(bytes: number): number {
  return (bytes / MIN_BYTES_PER_SECOND) * 1_000;
}

/** How much of an unwanted body is read and forgotten, so that a client that is still sending can read its answer. */
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;
/** How long that may take, in milliseconds. */
const DISCARD_MS = 5_000;

/** Reads on after an answer that did not need the body, and breaks the connection when that takes too much. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  let left = MAX_DISCARDED_BYTES;
  const { socket } = request;
  const timer = setTimeout(() => socket.destroy(), DISCARD_MS);
  const stop = () => clearTimeout(timer);
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy();
  });
  // Once its answer is out, a request no longer tells that its client has left; the socket does.
  socket.once('close', stop);
  request.once('end', () => {
    stop();
    socket.off('close', stop);
  });
  request.on('error', () => {});
  request.resume();
}

/** The whole body, if it is here, is not compressed and has at most `maxBytes`; else undefined, and nothing is taken. */
export function takeBufferedBody(request: IncomingMessage, maxBytes: number): Buffer | undefined {
  const { headers, readableLength, complete } = request;
  // The parser tells of the end only after it has told of the last piece.
  const isWhole = complete || Number(headers['content-length']) === readableLength;
  if (!isWhole || headers['content-encoding'] !== undefined || readableLength > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  // A read gives one piece.
  for (let chunk: Buffer | null = request.read(); chunk !== null; chunk = request.read()) chunks.push(chunk);
  // So that the stream notices its end.
  request.resume();
  return joined(chunks);
}

function joined(chunks: readonly Buffer[]): Buffer {
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}

export class BodyReader {
  readonly #request: IncomingMessage;
  readonly #maxBytes: number;
  readonly #requestMs: number;

  constructor(request: IncomingMessage, maxBytes: number, requestMs: number) {
    this.#request = request;
    this.#maxBytes = maxBytes;
    this.#requestMs = requestMs;
  }

  /** Reads all of it. `askForBody` is called once it is clear that the body is wanted. Throws a BodyError. */
  async read(askForBody?: () => void): Promise<Buffer> {
    const encoding = this.#request.headers['content-encoding'];
    if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
      const message = 'The body is compressed (Content-Encoding); send it as it is.';
      throw new BodyError({ code: 'invalid_request', message });
    }
    if (Number(this.#request.headers['content-length'] ?? 0) > this.#maxBytes) throw this.#tooLarge();
    askForBody?.();
    return takeBufferedBody(this.#request, this.#maxBytes) ?? this.#collect();
  }

  #collect(): Promise<Buffer> {
    const request = this.#request;
    if (request.destroyed) return Promise.reject(new BodyError(undefined));
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let length = 0;
      const beganAtMs = performance.now();
      const timer = setTimeout(() => finish(this.#stalled()), this.#requestMs);
      const onData = (chunk: Buffer) => {
        timer.refresh();
        chunks.push(chunk);
        length += chunk.length;
        if (length > this.#maxBytes) finish(this.#tooLarge());
        else if (performance.now() - beganAtMs > this.#requestMs + transferMs(length)) finish(this.#tooSlow());
      };
      const onEnd = () => finish(undefined);
      const onClose = () => finish(new BodyError(undefined));
      const finish = (fault: BodyError | undefined) => {
        clearTimeout(timer);
        request.off('data', onData).off('end', onEnd).off('close', onClose);
        if (fault !== undefined) reject(fault);
        else resolve(joined(chunks));
      };
      request.on('data', onData).on('end', onEnd).on('close', onClose);
      request.on('error', () => {});
    });
  }

  #tooLarge(): BodyError {
    const message = `The body is larger than ${this.#maxBytes} bytes, the most that this gateway takes.`;
    return new BodyError({ code: 'invalid_request', status: 413, message });
  }

  #stalled(): BodyError {
    return late(`Nothing more of the body came within ${this.#requestMs} ms.`);
  }

  #tooSlow(): BodyError {
    return late(`The body came with less than ${MIN_BYTES_PER_SECOND} bytes a second.`);
  }
}

function late(message: string): BodyError {
  return new BodyError({ code: 'invalid_request', status: 408, message, close: true });
}
