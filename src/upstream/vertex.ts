/** An upstream at Google's Vertex AI: requests carry a token, unless the config has a key. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { GEMINI_COUNT_TOKENS } from '../dialects/gemini/gemini-count-tokens.ts';
import { COUNT_TOKENS } from '../dialects/messages/messages-count-tokens.ts';
import { type Endpoint, endpointOf, type Host } from '../providers/host.ts';
import { vertexRequest } from '../providers/vertex.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt } from './attempt.ts';
import type { Authorize } from './google.ts';
import { HostPool } from './host-pool.ts';
import { answerNotFound, sendProven, TokenSecrets } from './proven.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

interface VertexHost extends Host {
  readonly project: string;
}

export class VertexUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: HostPool;
  readonly #secrets: TokenSecrets;
  /** Undefined where a key says who asks. */
  readonly #load: (() => Promise<Authorize>) | undefined;
  #authorize: Promise<Authorize> | undefined;

  constructor(host: VertexHost, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#secrets = new TokenSecrets(this.#endpoint.secrets);
    this.#timeouts = timeouts;
    this.#pool = new HostPool(this.#endpoint.origin, timeouts);
    if (host.apiKey === undefined) this.#load = async () => (await import('./google.ts')).authorizer(host.project);
  }

  get secrets(): Secrets {
    return this.#secrets.all;
  }

  attempt(call: UpstreamCall): Attempt {
    const { dialect } = call.request;
    // The gateway counts for it.
    if (dialect === COUNT_TOKENS || dialect === GEMINI_COUNT_TOKENS) return this.ask();
    const attempt = new Attempt();
    const { path, headers, body } = vertexRequest(this.#endpoint, call);
    void sendProven(attempt, this.#pool, this.#timeouts, async () => ({
      request: { method: 'POST', path, headers: { ...headers, ...(await this.#proof()) }, body },
    }));
    return attempt;
  }

  /** It keeps nothing. */
  ask(): Attempt {
    return answerNotFound(new Attempt());
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #proof(): Promise<Record<string, string>> {
    this.#authorize ??= this.#load?.();
    const proof = (await (await this.#authorize)?.()) ?? {};
    this.#secrets.keep(proof.authorization?.replace(/^Bearer /, ''));
    return proof;
  }
}
