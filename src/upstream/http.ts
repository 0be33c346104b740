/** An upstream over HTTP. The only place that knows undici. */

import type { Dispatcher } from 'undici';
// Not from its index, which loads fetch, caches, WebSockets and more: 25 ms and 10 MB.
import Pool from 'undici/lib/dispatcher/pool.js';
import type { UpstreamTimeouts } from '../core/settings.ts';
import { bodyFor, endpointOf, type OpenaiEndpoint, type OpenaiHost } from '../providers/openai.ts';
import type { ChatRequest } from '../wire/request.ts';
import { Attempt, type FailureKind, UpstreamFailure } from './attempt.ts';
import { Deadline } from './deadline.ts';
import type { Upstream } from './upstream.ts';

/** How long an idle connection to an upstream is kept: below the 60 s after which many of them close it. */
const KEEP_ALIVE_MS = 30_000;

export class HttpUpstream implements Upstream {
  readonly #host: OpenaiHost;
  readonly #endpoint: OpenaiEndpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: Pool;

  constructor(host: OpenaiHost, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#host = host;
    this.#endpoint = endpointOf(host, userAgent);
    this.#timeouts = timeouts;
    this.#pool = new Pool(this.#endpoint.origin, {
      // One request at a time on a connection: a slow stream must not hold up another.
      pipelining: 1,
      allowH2: false,
      connect: { timeout: timeouts.connectMs },
      keepAliveTimeout: KEEP_ALIVE_MS,
      // These run on a coarse clock; the attempt keeps time itself.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  get secrets(): readonly string[] {
    return this.#endpoint.secrets;
  }

  attempt(request: ChatRequest, model: string, capTokens: number | undefined): Attempt {
    const attempt = new Attempt();
    const accept = request.stream ? 'text/event-stream' : 'application/json';
    this.#pool.dispatch(
      {
        method: 'POST',
        path: this.#endpoint.path,
        headers: { ...this.#endpoint.headers, accept },
        body: bodyFor(this.#host, request, model, capTokens),
      },
      new AttemptHandler(attempt, this.#timeouts),
    );
    return attempt;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Feeds an attempt from undici, and keeps its time-outs. */
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

  /** The connection stands, and the request is about to be written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const milliseconds = this.#timeouts.firstByteMs;
    this.#deadline.set({ kind: 'first_byte_timeout', missing: 'no response headers', milliseconds });
    this.#attempt.begin({
      pause: () => {
        // A slow reader is no fault of the upstream's.
        this.#deadline.clear();
        controller.pause();
      },
      resume: () => {
        this.#expectMore();
        controller.resume();
      },
      abort: () => {
        this.#deadline.clear();
        controller.abort(new Error('given up by the gateway'));
      },
    });
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // Interim answers (103 Early Hints and the like) are no progress.
    if (status < 200) return;
    // They are parts of the first bytes read, and would keep all of them as long as the answer lasts.
    controller.rawHeaders = null;
    this.#expectMore();
    const encoding = single(headers['content-encoding']);
    this.#attempt.answer({
      status,
      contentType: single(headers['content-type']) ?? '',
      contentEncoding: encoding === 'identity' ? undefined : encoding,
      retryAfter: single(headers['retry-after']),
    });
  }

  onResponseData(_: unknown, chunk: Buffer): void {
    this.#deadline.putOff();
    this.#attempt.push(chunk);
  }

  onResponseEnd(): void {
    this.#deadline.clear();
    this.#attempt.end();
  }

  onResponseError(_: unknown, error: Error): void {
    this.#deadline.clear();
    const code = (error as NodeJS.ErrnoException).code;
    const kind: FailureKind = this.#attempt.sent ? 'broken' : 'not_connected';
    this.#attempt.fail(new UpstreamFailure(kind, code === undefined ? error.message : `${error.message} (${code})`));
  }

  #expectMore(): void {
    this.#deadline.set({ kind: 'idle_timeout', missing: 'nothing more', milliseconds: this.#timeouts.idleMs });
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(', ') : header;
}
