/** Connection pool of a host. The only file that uses undici. */

import { createRequire } from 'node:module';
import type { Readable } from 'node:stream';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import { isEncoded } from '../core/content-coding.ts';
import type { HttpProxy } from '../core/proxy.ts';
import type { UpstreamTimeouts } from '../core/settings.ts';
import { type Attempt, type ResponseHead, type Source, UpstreamFailure } from './attempt.ts';
import { type Deadline, Deadlines } from './deadline.ts';
import { retryAfterOf } from './retry.ts';
import { openTunnel, ProxyError } from './tunnel.ts';

// The build removes this line and bundles the required modules: scripts/bundling.ts.
const require = createRequire(import.meta.url);

/** Maximum idle time of a connection: less than the 60 s after which many upstreams close it. */
const KEEP_ALIVE_MS = 30_000;

/** Error codes for exhausted resources of this machine: file descriptors of the process or the system, memory, and ports. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

const SUMMARIES = {
  broken: 'the connection was lost',
  not_connected: 'no connection to the upstream',
  no_socket: 'the gateway has no connection left',
} as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** An outgoing request. */
export interface HostRequest {
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** Including the query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Readable;
}

/** Converts the response of a host with its own format. */
export interface ResponseDecoder {
  /** Converts the head. */
  head(head: ResponseHead, headers: Headers): ResponseHead;
  /** Converts a part of the body. */
  push(chunk: Buffer): Decoded;
  /**
   * Called at the end of the body, even if it was cut: returns the remaining bytes, and a failure if the body is incomplete.
   */
  end(): Decoded;
}

export interface Decoded {
  readonly bytes: Buffer;
  /** The failure after these bytes. */
  readonly failure: UpstreamFailure | undefined;
}

/** The connections to one host. */
export class HostPool {
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: Pool;
  readonly #deadlines = new Deadlines();

  constructor(origin: string, timeouts: UpstreamTimeouts, proxy?: HttpProxy) {
    this.#timeouts = timeouts;
    // Loaded with the first host. The package index also loads fetch, caches, WebSockets and more: 25 ms and 10 MB.
    const Connections = require('undici/lib/dispatcher/pool.js') as typeof Pool;
    this.#pool = new Connections(origin, {
      // One request at a time per connection, so that a slow stream does not block another.
      pipelining: 1,
      allowH2: false,
      connect: proxy === undefined ? { timeout: timeouts.connectMs } : through(proxy, timeouts.connectMs),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // undici's own timeouts use a coarse clock; AttemptHandler keeps exact ones.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends a request, and feeds the attempt with its response. */
  send(attempt: Attempt, request: HostRequest, decoder?: ResponseDecoder): void {
    this.#pool.dispatch(request, new AttemptHandler(attempt, this.#timeouts, this.#deadlines, decoder));
  }

  /** Closes every connection at once. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/**
 * Connects through a proxy by a tunnel, even to plain HTTP hosts. Without a tunnel, responses of the proxy could not be
 * distinguished from the host's, and its 504 would count as proof that the host did no work.
 */
function through(proxy: HttpProxy, timeoutMs: number): buildConnector.connector {
  const connectorOf = require('undici/lib/core/connect.js') as typeof buildConnector;
  const secure = connectorOf({ timeout: timeoutMs, allowH2: false });
  return (options, callback) => {
    const { hostname, port, protocol } = options;
    const isTls = protocol === 'https:';
    openTunnel(proxy, hostname, Number(port || (isTls ? 443 : 80)), timeoutMs).then(
      (socket) => {
        if (isTls) secure({ ...options, httpSocket: socket }, callback);
        else callback(null, socket.setNoDelay(true));
      },
      (error) => callback(error, null),
    );
  };
}

/** Feeds an attempt from undici, and enforces its timeouts. */
class AttemptHandler implements Dispatcher.DispatchHandler, Source {
  readonly #attempt: Attempt;
  readonly #timeouts: UpstreamTimeouts;
  readonly #decoder: ResponseDecoder | undefined;
  readonly #deadlines: Deadlines;
  /** Undefined once the response has ended. */
  #deadline: Deadline | undefined;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    attempt: Attempt,
    timeouts: UpstreamTimeouts,
    deadlines: Deadlines,
    decoder: ResponseDecoder | undefined,
  ) {
    this.#attempt = attempt;
    this.#timeouts = timeouts;
    this.#decoder = decoder;
    this.#deadlines = deadlines;
    this.#deadline = deadlines.take(({ kind, missing, milliseconds }) =>
      attempt.fail(new UpstreamFailure(kind, `${missing} within ${milliseconds} ms`)),
    );
    this.#deadline.set({ kind: 'not_connected', missing: 'no connection', milliseconds: timeouts.connectMs });
  }

  /** Called when a connection is ready and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const milliseconds = this.#timeouts.firstByteMs;
    this.#deadline?.set({ kind: 'first_byte_timeout', missing: 'no response headers', milliseconds });
    this.#attempt.begin(this);
  }

  pause(): void {
    // A slow client is not the upstream's failure.
    this.#deadline?.clear();
    this.#controller?.pause();
  }

  resume(): void {
    this.#expectMore();
    this.#controller?.resume();
  }

  abort(): void {
    this.#endDeadline();
    this.#controller?.abort(new Error('aborted by the gateway'));
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Interim responses, such as 103 Early Hints, are not progress.
    if (status < 200) return;
    // These are slices of the first read, and would retain it until the response ends.
    controller.rawHeaders = null;
    this.#expectMore();
    const head = {
      status,
      contentType: single(headers['content-type']) ?? '',
      isEncoded: isEncoded(single(headers['content-encoding'])),
      retryAfter: retryAfterOf(single(headers['retry-after']), single(headers['retry-after-ms'])),
    };
    this.#attempt.receiveHead(this.#decoder === undefined ? head : this.#decoder.head(head, headers));
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#deadline?.refresh();
    if (this.#decoder === undefined) return this.#attempt.push(chunk);
    const failure = this.#push(this.#decoder.push(chunk));
    if (failure === undefined) return;
    this.#endDeadline();
    this.#pushRest();
    this.#attempt.fail(failure);
  }

  onResponseEnd(): void {
    this.#endDeadline();
    const failure = this.#pushRest();
    if (failure === undefined) this.#attempt.end();
    else this.#attempt.fail(failure);
  }

  onResponseError(_: unknown, error: Error): void {
    this.#endDeadline();
    this.#pushRest();
    const code = (error as NodeJS.ErrnoException).code;
    const kind = this.#attempt.sent ? 'broken' : OWN_FAULTS.has(code ?? '') ? 'no_socket' : 'not_connected';
    if (error instanceof ProxyError && kind === 'not_connected') {
      return this.#attempt.fail(new UpstreamFailure(kind, error.message));
    }
    const withCode = (text: string) => (code === undefined ? text : `${text} (${code})`);
    this.#attempt.fail(new UpstreamFailure(kind, withCode(error.message), withCode(SUMMARIES[kind])));
  }

  #push({ bytes, failure }: Decoded): UpstreamFailure | undefined {
    if (bytes.length > 0) this.#attempt.push(bytes);
    return failure;
  }

  /** Meters the remaining bytes of an incomplete response, too. */
  #pushRest(): UpstreamFailure | undefined {
    return this.#decoder && this.#push(this.#decoder.end());
  }

  #endDeadline(): void {
    if (this.#deadline === undefined) return;
    this.#deadlines.giveBack(this.#deadline);
    this.#deadline = undefined;
  }

  #expectMore(): void {
    this.#deadline?.set({ kind: 'idle_timeout', missing: 'no more data', milliseconds: this.#timeouts.idleMs });
  }
}

function single(header: Headers[string]): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
