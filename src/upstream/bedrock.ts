/** An upstream at Amazon Bedrock: requests are signed, and streams consist of frames. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { COUNT_TOKENS } from '../dialects/messages/messages-count-tokens.ts';
import { bedrockRequest } from '../providers/bedrock.ts';
import { type Endpoint, endpointOf, type Host, type OutgoingRequest } from '../providers/host.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt } from './attempt.ts';
import type { Sign } from './aws.ts';
import type { Notice } from './aws-credentials.ts';
import { type DecodeFrame, FrameDecoder } from './frames.ts';
import { HostPool } from './host-pool.ts';
import { answerNotFound, loadedOnce, type Proven, sendProven, TokenSecrets } from './proven.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

interface BedrockHost extends Host {
  readonly region: string;
}

/** The modules that a request needs. */
interface Ready {
  readonly decode: DecodeFrame;
  /** Undefined if the config has a Bedrock API key. */
  readonly sign: Sign | undefined;
}

export class BedrockUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: HostPool;
  readonly #secrets: TokenSecrets;
  readonly #ready: () => Promise<Ready>;

  constructor(host: BedrockHost, timeouts: UpstreamTimeouts, userAgent: string, notice: Notice) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#secrets = new TokenSecrets(this.#endpoint.secrets);
    this.#timeouts = timeouts;
    this.#pool = new HostPool(this.#endpoint.origin, timeouts, host.proxy);
    this.#ready = loadedOnce(async () => {
      const { decodeFrame, signerOf } = await import('./aws.ts');
      const { region, proxy } = host;
      const sign = host.apiKey === undefined ? signerOf('bedrock', { region, proxy, notice }) : undefined;
      return { decode: decodeFrame, sign };
    });
  }

  get secrets(): Secrets {
    return this.#secrets.all;
  }

  attempt(call: UpstreamCall): Attempt {
    // The gateway counts instead.
    if (call.request.dialect === COUNT_TOKENS) return this.ask();
    const attempt = new Attempt();
    const request = bedrockRequest(this.#endpoint, call);
    // Converse reports the tier in its bodies.
    const isTierInHead = call.request.dialect.name !== 'converse';
    void sendProven(attempt, this.#pool, this.#timeouts, () => this.#prove(request, isTierInHead));
    return attempt;
  }

  /** The host stores no responses. */
  ask(): Attempt {
    return answerNotFound(new Attempt());
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #prove({ path, headers, body }: OutgoingRequest, isTierInHead: boolean): Promise<Proven> {
    const { decode, sign } = await this.#ready();
    const url = new URL(this.#endpoint.origin + path);
    const signed = await sign?.({ method: 'POST', url, contentType: headers['content-type'], body });
    const { tokens, signature } = credentialsIn(signed);
    this.#secrets.keep(tokens);
    return {
      request: { method: 'POST', path, headers: { ...headers, ...signed }, body },
      decoder: new FrameDecoder(decode, isTierInHead),
      credentials: signature,
    };
  }
}

/**
 * The credentials in the headers of a signed request: key id and session token, shared by all requests, and the signature of
 * this one.
 */
function credentialsIn({ authorization = '', 'x-amz-security-token': session }: Readonly<Record<string, string>> = {}) {
  const keyId = /Credential=([^/]+)/.exec(authorization)?.[1];
  const signature = /Signature=(\w+)/.exec(authorization)?.[1];
  const present = (values: readonly (string | undefined)[]) => values.filter((value) => value !== undefined);
  return { tokens: present([keyId, session]), signature: present([signature]) };
}
