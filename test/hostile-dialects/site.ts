/** A gateway before a truthful host of three dialects. */

import type { Conversation } from '../hostile/conversation.ts';
import { send } from '../hostile/sender.ts';
import { AMPLE, NANOS_PER_USD, type Outcome, type SiteOptions } from '../hostile/site.ts';
import { startTestGateway, type TestGateway, type TestKey } from '../support/gateway.ts';
import type { KeySettings } from '../support/state.ts';
import { until } from '../support/wait.ts';
import { type DialectName, Dialogue } from './dialogue.ts';
import { DialectHost, READINGS } from './host.ts';
import { MESSAGES_MODELS, MODELS } from './pricing.ts';
import { isReached, PATHS, providerOf, type Request, signed } from './requests.ts';

const HOST_DIALECTS: readonly DialectName[] = ['chat', 'messages', 'responses'];
const AMPLE_CREDIT = '1000000';

export class DialectSite {
  readonly host: DialectHost;
  readonly gateway: TestGateway;
  /** What was held for all requests of a key when one of them arrived at the host, in nanodollars. */
  readonly heldAtArrival = new WeakMap<Conversation, number>();
  readonly #keys = new WeakMap<Conversation, TestKey>();
  #sent = 0;

  private constructor(host: DialectHost, gateway: TestGateway) {
    this.host = host;
    this.gateway = gateway;
  }

  static async open({ config: more = {} }: Pick<SiteOptions, 'config'> = {}): Promise<DialectSite> {
    const host = await DialectHost.start();
    try {
      const config = { providers: providersAt(host.upstream.port), durability: 'crash', ...more };
      return new DialectSite(host, await startTestGateway({ config, credit: AMPLE_CREDIT }));
    } catch (error) {
      // An open port would keep the process alive.
      await host.upstream.close();
      throw error;
    }
  }

  /** From here on `heldAtArrival` is filled. */
  watchHolds(): void {
    this.host.onArrival = (conversation) => {
      const key = this.#keys.get(conversation);
      if (key !== undefined) this.heldAtArrival.set(conversation, Number(this.gateway.heldNanos(key)));
    };
  }

  key(settings: KeySettings = {}): TestKey {
    return this.gateway.key({ ...AMPLE, ...settings });
  }

  /** Sets the balance, which is all that the account has while nothing is in flight. */
  setBalance(nanos: number): void {
    const change = BigInt(nanos) - this.gateway.balanceNanos;
    if (change !== 0n) this.gateway.addCredit(change);
  }

  resetBalance(): void {
    this.setBalance(Number(AMPLE_CREDIT) * NANOS_PER_USD);
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

  /** Waits until nothing of these keys is in flight, and every host has made its bill. */
  async settled(keys: readonly TestKey[], outcomes: readonly Outcome[]): Promise<void> {
    const bills = () => outcomes.flatMap(({ conversation }) => conversation.bills);
    await until(async () => (await this.gateway.inFlight()) === 0 && bills().every(({ isFinal }) => isFinal));
    await until(() => keys.every((key) => this.gateway.holds(key) === 0));
  }

  /** Nanodollars that a key was charged so far. */
  charged(key: TestKey): number {
    return this.gateway.rows(key).reduce((sum, { cost_nanos }) => sum + cost_nanos, 0);
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await this.host.upstream.close();
  }
}

/** One for each dialect and each way to read names. */
function providersAt(port: number): Record<string, unknown> {
  const each = HOST_DIALECTS.flatMap((host) => READINGS.map((reading) => ({ host, reading })));
  return Object.fromEntries(
    each.map(({ host, reading }) => {
      const base_url = `http://127.0.0.1:${port}/${reading}/${host}/v1`;
      const kind =
        host === 'messages' ? { kind: 'anthropic', models: MESSAGES_MODELS } : { kind: 'openai', models: MODELS };
      const name = providerOf({ host, reading });
      return [name, { ...kind, dialects: [host], base_url, api_key: 'upstream-key-canary-4711' }];
    }),
  );
}
