/** An upstream over HTTP. */

import { Readable } from 'node:stream';
import type { UpstreamTimeouts } from '../core/settings.ts';
import { bodyFor, type Endpoint, endpointOf, type Host, headersFor, pathFor } from '../providers/host.ts';
import type { Form } from '../wire/body.ts';
import { formContentType, formWith } from '../wire/multipart.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt } from './attempt.ts';
import { HostPool } from './host-pool.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

export class HttpUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #pool: HostPool;

  constructor(host: Host, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#pool = new HostPool(this.#endpoint.origin, timeouts);
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
    this.#pool.send(attempt, { method: 'POST', path: pathFor(this.#endpoint, request, model), ...sent });
    return attempt;
  }

  ask(method: 'GET' | 'DELETE', below: string): Attempt {
    const attempt = new Attempt();
    const { path, query, headers } = this.#endpoint;
    const sent = { ...headers, accept: 'application/json' };
    this.#pool.send(attempt, { method, path: `${path}${below}${query}`, headers: sent });
    return attempt;
  }

  close(): Promise<void> {
    return this.#pool.close();
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
