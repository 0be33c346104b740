/** An upstream at Google's Vertex AI: requests carry a token, unless the config has a key. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { GEMINI_COUNT_TOKENS } from '../dialects/gemini/gemini-count-tokens.ts';
import { COUNT_TOKENS } from '../dialects/messages/messages-count-tokens.ts';
import type { Host } from '../providers/host.ts';
import { vertexRequest } from '../providers/vertex.ts';
import { Attempt } from './attempt.ts';
import { HttpUpstream } from './http.ts';
import { answerNotFound } from './proven.ts';
import type { UpstreamCall } from './upstream.ts';

interface VertexHost extends Host {
  readonly project: string;
}

export class VertexUpstream extends HttpUpstream {
  constructor(host: VertexHost, timeouts: UpstreamTimeouts, userAgent: string) {
    const load = async () => (await import('./google.ts')).authorizer(host);
    super(host, timeouts, userAgent, host.apiKey === undefined ? load : undefined);
  }

  override attempt(call: UpstreamCall): Attempt {
    const { dialect } = call.request;
    // The gateway counts instead.
    if (dialect === COUNT_TOKENS || dialect === GEMINI_COUNT_TOKENS) return this.ask();
    return this.send({ method: 'POST', ...vertexRequest(this.endpoint, call) });
  }

  /** The host stores no responses. */
  override ask(): Attempt {
    return answerNotFound(new Attempt());
  }
}
