/** An upstream over HTTP. */
import { Readable } from 'node:stream';
import type { UpstreamTimeouts } from '../core/settings.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { bodyFor, type Endpoint, endpointOf, type Host, headersFor, pathFor } from '../providers/host.ts';
import type { Form } from '../wire/body.ts';
import { formContentType, formWith } from '../wire/multipart.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt } from './attempt.ts';
import { HostPool, type HostRequest } from './host-pool.ts';
import type { Proofs } from './kept-proof.ts';
import { Tokens } from './proven.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

export class HttpUpstream implements Upstream {
  protected readonly endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: HostPool;
  /** Undefined if requests carry an API key or no credentials. */
  readonly #tokens: Tokens | undefined;

  /** `load`: loads the token provider. */
  constructor(host: Host, timeouts: UpstreamTimeouts, userAgent: string, load?: () => Promise<Proofs>) {
    this.endpoint = endpointOf(host, userAgent);
    this.#timeouts = timeouts;
    const { origin, secrets } = this.endpoint;
    this.#pool = new HostPool(origin, timeouts, host.proxy);
    const loadEntra = async () => (await import('./entra.ts')).authorizer(origin, process.env, host.proxy);
    const loads = host.auth === 'entra' ? loadEntra : load;
    this.#tokens = loads && new Tokens(secrets, loads);
  }

  get secrets(): Secrets {
    return this.#tokens?.secrets ?? this.endpoint.secrets;
  }

  attempt({ request, model, capTokens, isTranslated, headers }: UpstreamCall): Attempt {
    const { form } = request.body;
    const own = headersFor(this.endpoint, request, headers);
    const { headers: sentHeaders, body } =
      form === undefined
        ? { headers: own, body: bodyFor(this.endpoint, request, model, capTokens, isTranslated) }
        : sentForm(form, model, request, own);
    const path = pathFor(this.endpoint, request, model);
    return this.send({ method: 'POST', path, headers: sentHeaders, body });
  }

  ask(method: 'GET' | 'DELETE', below: string): Attempt {
    const { path, query, headers } = this.endpoint;
    return this.send({ method, path: `${path}${below}${query}`, headers: { ...headers, accept: 'application/json' } });
  }

  protected send(request: HostRequest): Attempt {
    const attempt = new Attempt();
    if (this.#tokens === undefined) this.#pool.send(attempt, request);
    else void this.#tokens.send(attempt, this.#pool, this.#timeouts, request);
    return attempt;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** Sends a form in pieces of the client's body, which stays in memory for another attempt. */
function sentForm(form: Form, model: string, { hostField }: ModelRequest, headers: Record<string, string>) {
  const values = new Map([['model', model]]);
  if (hostField !== undefined) values.set(hostField.name, hostField.value);
  const pieces = formWith(form, values);
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return {
    headers: { ...headers, 'content-type': formContentType(form), 'content-length': String(length) },
    body: Readable.from(pieces),
  };
}
