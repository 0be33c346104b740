/** A gateway with a provider for each attack on a unit of price, before a host that follows the attacks. */
import { type Bill, Conversation, nextMoment } from '../../hostile/conversation.ts';
import { gatewayBefore, type Outcome, TruthfulSite } from '../../hostile/truthful-site.ts';
import { FakeUpstream, type UpstreamCall } from '../../support/fake-upstream.ts';
import type { TestKey } from '../../support/gateway.ts';
import type { Attack } from './attack.ts';
import { MODALITY_ATTACKS } from './modalities.ts';
import { PRICE_ATTACKS } from './prices.ts';
import { SOUND_ATTACKS } from './sounds.ts';

/** No hold covers the bills of the others. */
export const ATTACKS: readonly Attack[] = [...PRICE_ATTACKS, ...MODALITY_ATTACKS, ...SOUND_ATTACKS].filter(
  ({ isUnforeseen }) => isUnforeseen !== true,
);

/** An attack as it is composed with others. */
export interface UnitRequest {
  readonly attack: Attack;
  /** The client leaves once all requests of its race are at the host, which works on. */
  readonly leaves: boolean;
  /** The host does its work, and its connection breaks before a byte of the answer. */
  readonly isLost: boolean;
}

/** Providers have names as long as the one in the attacks, so that forms keep their length. */
const nameOf = (attack: Attack) => `u${ATTACKS.indexOf(attack).toString(36).padStart(3, '0')}`;
const ATTACKED = 'fake/';

interface Host {
  readonly upstream: FakeUpstream;
  readonly strangers: number;
}

export class UnitSite extends TruthfulSite<Host> {
  #turn: Promise<unknown> = Promise.resolve();
  #sent = 0;

  static async open({ config = {} }: { readonly config?: Readonly<Record<string, unknown>> } = {}): Promise<UnitSite> {
    const upstream = await FakeUpstream.start();
    const providers = Object.fromEntries(
      ATTACKS.map((attack) => {
        const base_url = `http://127.0.0.1:${upstream.port}/${nameOf(attack)}/v1`;
        return [nameOf(attack), { kind: 'openai', base_url, api_key: 'upstream-key', ...attack.provider }];
      }),
    );
    const host = { upstream, strangers: 0 };
    return new UnitSite(host, await gatewayBefore(host, { providers, ...config }));
  }

  async send(key: TestKey, request: UnitRequest): Promise<Outcome> {
    const [outcome] = await this.race(key, [request]);
    return outcome as Outcome;
  }

  /** The host does not know whose request it has. So the requests of one key have it for themselves. */
  race(key: TestKey, requests: readonly UnitRequest[]): Promise<Outcome[]> {
    const run = this.#turn.then(() => this.#race(key, requests));
    this.#turn = run.catch(() => {});
    return run;
  }

  /** The host answers once every request is at it or refused. Its bills are those of the first outcome. */
  async #race(key: TestKey, requests: readonly UnitRequest[]): Promise<Outcome[]> {
    const bills = new Conversation(`sent-${++this.#sent}`);
    const all = Promise.withResolvers<void>();
    const leaving = new AbortController();
    let open = requests.length;
    let working = 0;
    const decide = () => {
      open--;
      if (open === 0) all.resolve();
    };
    this.host.upstream.follow(async (call) => {
      const attack = ATTACKS[Number.parseInt(call.path.slice(2, 5), 36)] as Attack;
      const request = requests.find((each) => each.attack === attack);
      bills.arrived(billOf(attack));
      working++;
      decide();
      await all.promise;
      await answer(call, attack, request?.isLost === true);
      working--;
    });
    const outcomes = requests.map(async (request, index) => {
      const status = await this.#status(key, request, leaving.signal);
      if (status >= 400 && status < 500) decide();
      return { status, text: '', conversation: index === 0 ? bills : new Conversation(`${bills.id}-${index}`) };
    });
    await Promise.race([all.promise, Promise.all(outcomes)]);
    leaving.abort();
    const received = await Promise.all(outcomes);
    while (working > 0 || (await this.gateway.inFlight()) > 0) await new Promise(setImmediate);
    return received;
  }

  /** 0 where the client has left, or the answer has broken off. */
  async #status(key: TestKey, { attack, leaves }: UnitRequest, signal: AbortSignal): Promise<number> {
    const name = `${nameOf(attack)}/`;
    const { body, headers = {} } = await attack.send();
    const named = Buffer.from(body?.toString('latin1').replaceAll(ATTACKED, name) ?? '', 'latin1');
    const sending = { key, method: 'POST', body: named, headers, ...(leaves && { signal }) };
    try {
      return (await this.gateway.request(attack.path.replace(ATTACKED, name), sending)).status;
    } catch {
      return 0;
    }
  }
}

async function answer(call: UpstreamCall, attack: Attack, isLost: boolean): Promise<void> {
  if (isLost) return call.reset();
  await attack.answer(call);
}

/** All of a bill was held when the request was admitted. */
function billOf({ bill }: Attack): Bill {
  const at = nextMoment();
  return {
    model: 'vendor-cheap',
    reading: 'exact',
    inputTokens: 0,
    declaredOutput: 0,
    heldOutput: 0,
    serviceTier: undefined,
    choices: 1,
    outputNanos: 0,
    isStream: false,
    from: at,
    to: at,
    outputTokens: 0,
    costNanos: bill,
    isFinal: true,
  };
}
