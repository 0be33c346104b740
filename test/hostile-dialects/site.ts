/** A gateway before a truthful host of three dialects. */

import type { Conversation } from '../hostile/conversation.ts';
import { send } from '../hostile/sender.ts';
import type { SiteOptions } from '../hostile/site.ts';
import { gatewayBefore, type Outcome, TruthfulSite } from '../hostile/truthful-site.ts';
import type { TestKey } from '../support/gateway.ts';
import { type DialectName, Dialogue } from './dialogue.ts';
import { DialectHost, READINGS } from './host.ts';
import { MESSAGES_MODELS, MODELS, SERVING_INSTEAD } from './pricing.ts';
import { isReached, PATHS, providerOf, type Request, signed } from './requests.ts';

const HOST_DIALECTS: readonly DialectName[] = ['chat', 'messages', 'responses'];

export class DialectSite extends TruthfulSite<DialectHost> {
  /** What was held for all requests of a key when one of them arrived at the host, in nanodollars. */
  readonly heldAtArrival = new WeakMap<Conversation, number>();
  readonly #keys = new WeakMap<Conversation, TestKey>();
  #sent = 0;

  static async open({ config = {} }: Pick<SiteOptions, 'config'> = {}): Promise<DialectSite> {
    const host = await DialectHost.start();
    return new DialectSite(host, await gatewayBefore(host, { providers: providersAt(host.upstream.port), ...config }));
  }

  /** From here on `heldAtArrival` is filled. */
  watchHolds(): void {
    this.host.onArrival = (conversation) => {
      const key = this.#keys.get(conversation);
      if (key !== undefined) this.heldAtArrival.set(conversation, Number(this.gateway.heldNanos(key)));
    };
  }

  /** Sends a request to its end, or until its client leaves. */
  send(key: TestKey, request: Request): Promise<Outcome> {
    return this.#send(key, request, this.#announce(key, request));
  }

  /** Sends several at once. The host answers none before it has all that are not refused. */
  async race(key: TestKey, requests: readonly Request[]): Promise<Outcome[]> {
    const release = this.host.holdAnswers();
    const arrivals: Promise<unknown>[] = [];
    const sendings = requests.map((request) => {
      const dialogue = this.#announce(key, request);
      const sending = this.#send(key, request, dialogue);
      arrivals.push(Promise.race([dialogue.arrival, sending]));
      return sending;
    });
    await Promise.all(arrivals);
    release();
    return Promise.all(sendings);
  }

  #announce(key: TestKey, { conduct, leaves }: Request): Dialogue {
    const dialogue = this.host.expect(new Dialogue(`sent-${++this.#sent}`, conduct, leaves));
    this.#keys.set(dialogue, key);
    return dialogue;
  }

  async #send(key: TestKey, request: Request, dialogue: Dialogue): Promise<Outcome> {
    const { client, conduct, leaves = 'never' } = request;
    const received = await send({
      port: this.gateway.port,
      secret: key.secret,
      path: PATHS[client],
      body: signed(request, dialogue.id),
      conversation: dialogue,
      isReached: isReached(client, leaves, conduct?.field),
    });
    // Of a client that left, the request may still be on the way to the host.
    if (dialogue.bills.length > 0 || received.status !== 0) this.host.forget(dialogue);
    return { ...received, conversation: dialogue };
  }
}

/** One for each dialect and each way to read names. */
function providersAt(port: number): Record<string, unknown> {
  const each = HOST_DIALECTS.flatMap((host) => READINGS.map((reading) => ({ host, reading })));
  return Object.fromEntries(
    each.map(({ host, reading }) => {
      const base_url = `http://127.0.0.1:${port}/${reading}/${host}/v1`;
      const [kind, own] = host === 'messages' ? ['anthropic', MESSAGES_MODELS] : ['openai', MODELS];
      const elsewhere = providerOf({ host: host === 'chat' ? 'messages' : 'chat', reading });
      const models = { ...own, refusing: { ...own.refusing, fallback: [`${elsewhere}/${SERVING_INSTEAD}`] } };
      const name = providerOf({ host, reading });
      return [name, { kind, models, dialects: [host], base_url, api_key: 'upstream-key-canary-4711' }];
    }),
  );
}
