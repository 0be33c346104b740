/** An upstream over HTTP. The only file that uses undici. */

import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import type { Dispatcher, Pool } from 'undici';
import { isEncoded } from '../core/content-coding.ts';
import type { UpstreamTimeouts } from '../core/settings.ts';
import { bodyFor, type Endpoint, endpointOf, type Host, headersFor, pathFor } from '../providers/host.ts';
import type { Form } from '../wire/body.ts';
import { formContentType, formWith } from '../wire/multipart.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt, UpstreamFailure } from './attempt.ts';
import { Deadline } from './deadline.ts';
import { retryAfterOf } from './retry.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

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

export class HttpUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: Pool;

  constructor(host: Host, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#timeouts = timeouts;
    // Loaded for the first host. The package index also loads fetch, caches, WebSockets and more: 25 ms and 10 MB.
    const HostPool = require('undici/lib/dispatcher/pool.js') as typeof Pool;
    this.#pool = new HostPool(this.#endpoint.origin, {
      // One request at a time per connection, so that a slow stream does not block another.
      pipelining: 1,
      allowH2: false,
      connect: { timeout: timeouts.connectMs },
      keepAliveTimeout: KEEP_ALIVE_MS,
      // undici's own timeouts use a coarse clock; AttemptHandler keeps exact ones.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  get secrets(): Secrets {
    return this.#endpoint.secrets;
  }

  attempt({ request, model, capTokens, isTranslated, headers }: UpstreamCall): Attempt {
    const attempt = new Attempt();
    const { form } = request.body;
    const own = headersFor(this.#endpoint, request, headers);
    const sent =
      form === undefined
        ? { headers: own, body: bodyFor(this.#endpoint, request, model, capTokens, isTranslated) }
        : sentForm(form, model, own);
    this.#pool.dispatch(
      { method: 'POST', path: pathFor(this.#endpoint, request, model), ...sent },
      new AttemptHandler(attempt, this.#timeouts),
    );
    return attempt;
  }

  ask(method: 'GET' | 'DELETE', below: string): Attempt {
    const attempt = new Attempt();
    const { path, query, headers } = this.#endpoint;
    const sent = { ...headers, accept: 'application/json' };
    this.#pool.dispatch(
      { method, path: `${path}${below}${query}`, headers: sent },
      new AttemptHandler(attempt, this.#timeouts),
    );
    return attempt;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** A form goes out in pieces of the body that was read, which is kept for another attempt. */
function sentForm(form: Form, model: string, headers: Record<string, string>) {
  const pieces = formWith(form, 'model', model);
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    headers: { ...headers, 'content-type': formContentType(form), 'content-length': String(length) },
    body: Readable.from(pieces),
  };
}

/** Feeds an attempt from undici, and enforces its timeouts. */
class AttemptHandler implements Dispatcher.DispatchHandler {
  readonly #attempt: Attempt;
  readonly #timeouts: UpstreamTimeouts;
  readonly #deadline: Deadline;

  constructor(attempt: Attempt, timeouts: UpstreamTimeouts) {
    this.#attempt = attempt;
    this.#timeouts = timeouts;
    this.#deadline = new Deadline(({ kind, missing, milliseconds }) =>
      attempt.fail(new UpstreamFailure(kind, `${missing} within ${milliseconds} ms`)),
    );
    this.#deadline.set({ kind: 'not_connected', missing: 'no connection', milliseconds: timeouts.connectMs });
  }

  /** There is a connection, and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const milliseconds = this.#timeouts.firstByteMs;
    this.#deadline.set({ kind: 'first_byte_timeout', missing: 'no response headers', milliseconds });
    this.#attempt.begin({
      pause: () => {
        // The upstream is not to blame for a slow client.
        this.#deadline.clear();
        controller.pause();
      },
      resume: () => {
        this.#expectMore();
        controller.resume();
      },
      abort: () => {
        this.#deadline.clear();
        controller.abort(new Error('aborted by the gateway'));
      },
    });
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
    this.#attempt.receiveHead({
      status,
      contentType: single(headers['content-type']) ?? '',
      isEncoded: isEncoded(single(headers['content-encoding'])),
      retryAfter: retryAfterOf(single(headers['retry-after']), single(headers['retry-after-ms'])),
    });
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#deadline.refresh();
    this.#attempt.push(chunk);
  }

  onResponseEnd(): void {
    this.#deadline.clear();
    this.#attempt.end();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#deadline.clear();
    const code = (error as NodeJS.ErrnoException).code;
    const kind = this.#attempt.sent ? 'broken' : OWN_FAULTS.has(code ?? '') ? 'no_socket' : 'not_connected';
    const withCode = (text: string) => (code === undefined ? text : `${text} (${code})`);
    this.#attempt.fail(new UpstreamFailure(kind, withCode(error.message), withCode(SUMMARIES[kind])));
  }

  #expectMore(): void {
    this.#deadline.set({ kind: 'idle_timeout', missing: 'no more data', milliseconds: this.#timeouts.idleMs });
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
