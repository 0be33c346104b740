/** Connections to a host, and how requests go out over them. The only file that uses undici. */

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

// The build removes this line, and bundles what is required: scripts/bundling.ts.
const require = createRequire(import.meta.url);

/** How long idle connections are kept: less than the 60 s after which many upstreams close them. */
const KEEP_ALIVE_MS = 30_000;

/** What this machine has run out of, by the code of the error: descriptors, of the process or of all, memory, and ports. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL']);

const SUMMARIES = {
  broken: 'the connection was lost',
  not_connected: 'no connection to the upstream',
  no_socket: 'the gateway has no connection left',
} as const;

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A request as it goes out. */
export interface HostRequest {
  readonly method: 'GET' | 'DELETE' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body?: string | Readable;
}

/** Reads one response that a host sends in another form than others do. */
export interface ResponseDecoder {
  /** The head as others would send it. */
  head(head: ResponseHead, headers: Headers): ResponseHead;
  /** What a part of the body stands for. */
  push(chunk: Buffer): Decoded;
  /** The body is over, or was cut: what is left of it, and why that is no end. */
  end(): Decoded;
}

export interface Decoded {
  readonly bytes: Buffer;
  /** What is wrong behind these bytes. */
  readonly failure: UpstreamFailure | undefined;
}

/** The connections to one host. */
export class HostPool {
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: Pool;
  readonly #deadlines = new Deadlines();

  constructor(origin: string, timeouts: UpstreamTimeouts, proxy?: HttpProxy) {
    this.#timeouts = timeouts;
    // Loaded for the first host. The package index also loads fetch, caches, WebSockets and more: 25 ms and 10 MB.
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
 * Connects through a proxy by a tunnel, to hosts of plain HTTP, too: a proxy that answers in the name of a host could not be
 * distinguished from it, and its 504 would pass for a proof that the host has done no work.
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

  /** There is a connection, and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    const milliseconds = this.#timeouts.firstByteMs;
    this.#deadline?.set({ kind: 'first_byte_timeout', missing: 'no response headers', milliseconds });
    this.#attempt.begin(this);
  }

  pause(): void {
    // The upstream is not to blame for a slow client.
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
    // Interim responses, such as 103 Early Hints, are no progress.
    if (status < 200) return;
    // These are slices of the first read, and would keep all of it in memory until the response
    // ends.
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

  /** What has arrived of something that is not complete is metered, too. */
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
