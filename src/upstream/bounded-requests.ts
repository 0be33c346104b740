/**
 * Bounds requests of packages that take no bounds themselves. Node's HTTP client publishes each request on a diagnostics channel,
 * and the async context of the request identifies the work that sent it.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';

export interface RequestBounds {
  /** For all requests of the work together. */
  readonly milliseconds: number;
  /** The maximum length of all responses together, with their headers. */
  readonly maxBytes: number;
}

class BoundedWork {
  readonly #requests = new Set<ClientRequest>();
  readonly #ended = Promise.withResolvers<never>();
  readonly #maxBytes: number;
  #bytes = 0;
  #reason: Error | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Rejects when the work exceeds a bound. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Closes the connections of all its requests, including future ones. */
  end(reason: Error): void {
    this.#reason ??= reason;
    for (const request of this.#requests) request.destroy(this.#reason);
    this.#ended.reject(this.#reason);
  }

  add(request: ClientRequest): void {
    if (this.#reason !== undefined) {
      request.destroy(this.#reason);
      return;
    }
    this.#requests.add(request);
    request.once('socket', (socket) => this.#count(request, socket));
    request.once('close', () => this.#requests.delete(request));
  }

  #count(request: ClientRequest, socket: Socket): void {
    const onData = ({ length }: Buffer) => {
      this.#bytes += length;
      if (this.#bytes > this.#maxBytes) this.end(new Error(`${request.host} sent more than ${this.#maxBytes} bytes`));
    };
    socket.on('data', onData);
    // The next request may use the same connection.
    request.once('close', () => socket.off('data', onData));
  }
}

const current = new AsyncLocalStorage<BoundedWork>();
let isSubscribed = false;

/** Does the work. Rejects, and closes the connections of its requests, once they exceed a bound. */
export async function withBoundedRequests<Result>(
  { milliseconds, maxBytes }: RequestBounds,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!isSubscribed) {
    subscribe('http.client.request.created', (message) =>
      current.getStore()?.add((message as { request: ClientRequest }).request),
    );
    isSubscribed = true;
  }
  const bounded = new BoundedWork(maxBytes);
  const timer = setTimeout(() => bounded.end(new Error(`no credentials within ${milliseconds} ms`)), milliseconds);
  try {
    return await Promise.race([current.run(bounded, work), bounded.ended]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rethrows an error without the response: a syntax error quotes it, and it may contain a secret. */
export function withoutBody(error: unknown): never {
  throw error instanceof SyntaxError ? new Error('the endpoint of the credentials did not send valid JSON') : error;
}
