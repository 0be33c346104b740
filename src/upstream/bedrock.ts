/** An upstream at Amazon Bedrock: requests are signed, and streams come in frames. */
import type { UpstreamTimeouts } from '../core/settings.ts';
import { COUNT_TOKENS } from '../dialects/messages/count-tokens.ts';
import { type BedrockRequest, bedrockRequest } from '../providers/bedrock.ts';
import { type Endpoint, endpointOf, type Host } from '../providers/host.ts';
import type { Secrets } from '../wire/secrets.ts';
import { Attempt, UpstreamFailure } from './attempt.ts';
import { loadFrames, loadSigner, type Sign } from './aws.ts';
import { Deadline } from './deadline.ts';
import { type DecodeFrame, FrameDecoder } from './frames.ts';
import { HostPool } from './host-pool.ts';
import type { Upstream, UpstreamCall } from './upstream.ts';

interface BedrockHost extends Host {
  readonly region: string;
}

/** What a request needs before it can go out. */
interface Ready {
  readonly decode: DecodeFrame;
  /** Undefined where a key of Bedrock's own says who asks. */
  readonly sign: Sign | undefined;
}

export class BedrockUpstream implements Upstream {
  readonly #endpoint: Endpoint;
  readonly #timeouts: UpstreamTimeouts;
  readonly #pool: HostPool;
  readonly #load: () => Promise<Ready>;
  #ready: Promise<Ready> | undefined;

  constructor(host: BedrockHost, timeouts: UpstreamTimeouts, userAgent: string) {
    this.#endpoint = endpointOf(host, userAgent);
    this.#timeouts = timeouts;
    this.#pool = new HostPool(this.#endpoint.origin, timeouts);
    const signer = host.apiKey === undefined ? () => loadSigner(host.region, 'bedrock') : () => undefined;
    this.#load = async () => ({ decode: await loadFrames(), sign: await signer() });
  }

  get secrets(): Secrets {
    return this.#endpoint.secrets;
  }

  attempt(call: UpstreamCall): Attempt {
    // The gateway counts for it.
    if (call.request.dialect === COUNT_TOKENS) return this.ask();
    const attempt = new Attempt();
    void this.#send(attempt, bedrockRequest(this.#endpoint, call));
    return attempt;
  }

  /** It keeps nothing. */
  ask(): Attempt {
    const attempt = new Attempt();
    attempt.receiveHead({ status: 404, contentType: 'application/json', isEncoded: false, retryAfter: undefined });
    attempt.end();
    return attempt;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Credentials may have to be asked for elsewhere. Nothing has been sent until they are there. */
  async #send(attempt: Attempt, { path, headers, body }: BedrockRequest): Promise<void> {
    const fail = (why: string) =>
      attempt.fail(new UpstreamFailure('not_connected', `${NO_CREDENTIALS}: ${why}`, NO_CREDENTIALS));
    const { connectMs: milliseconds } = this.#timeouts;
    const deadline = new Deadline(() => fail(`not within ${milliseconds} ms`));
    deadline.set({ kind: 'not_connected', missing: NO_CREDENTIALS, milliseconds });
    try {
      this.#ready ??= this.#load();
      const { decode, sign } = await this.#ready;
      const url = new URL(this.#endpoint.origin + path);
      const signed = await sign?.({ method: 'POST', url, contentType: headers['content-type'], body });
      this.#pool.send(
        attempt,
        { method: 'POST', path, headers: { ...headers, ...signed }, body },
        new FrameDecoder(decode),
      );
    } catch (error) {
      fail(String(error));
    } finally {
      deadline.clear();
    }
  }
}

const NO_CREDENTIALS = 'no credentials for Amazon';
