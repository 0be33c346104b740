/** An upstream at Google's Vertex AI: requests carry a token, unless the config has a key. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { GEMINI_COUNT_TOKENS } from '../dialects/gemini/gemini-count-tokens.ts';
import { COUNT_TOKENS } from '../dialects/messages/messages-count-tokens.ts';
import { type Endpoint, endpointOf, type Host } from '../providers/host.ts';
import { vertexRequest } from '../providers/vertex.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt } from './attempt.ts';
import { HostPool } from './host-pool.ts';
import { answerNotFound, Tokens } from './proven.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

interface VertexHost extends Host {
  readonly project: string;
}

export class VertexUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: HostPool;
  /** Undefined where a key says who asks. */
  readonly #tokens: Tokens | undefined;

  constructor(host: VertexHost, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#timeouts = timeouts;
    this.#pool = new HostPool(this.#endpoint.origin, timeouts);
    if (host.apiKey === undefined) {
      const load = async () => (await import('./google.ts')).authorizer(host.project);
      this.#tokens = new Tokens(this.#endpoint.secrets, load);
    }
  }

  get secrets(): Secrets {
    return this.#tokens?.secrets ?? this.#endpoint.secrets;
  }

  attempt(call: UpstreamCall): Attempt {
    const { dialect } = call.request;
    // The gateway counts for it.
    if (dialect === COUNT_TOKENS || dialect === GEMINI_COUNT_TOKENS) return this.ask();
    const attempt = new Attempt();
    const request = { method: 'POST', ...vertexRequest(this.#endpoint, call) } as const;
    if (this.#tokens === undefined) this.#pool.send(attempt, request);
    else void this.#tokens.send(attempt, this.#pool, this.#timeouts, request);
    return attempt;
  }

  /** It keeps nothing. */
  ask(): Attempt {
    return answerNotFound(new Attempt());
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}
