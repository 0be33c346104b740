/**
 * A gateway before truthful hosts, with the prices, keys and figures that attacks and the fuzzer
 * reckon with.
 */
import type { TestKey } from '../support/gateway.ts';
import { type Bill, Conversation, type LeavingPoint, type Wish } from './conversation.ts';
import { MANNERS, MAX_OUTPUT, TruthfulHost } from './host.ts';
import type { Fields } from './names.ts';
import { HOST_MODELS } from './pricing.ts';
import { send } from './sender.ts';
import { gatewayBefore, type Outcome, TruthfulSite } from './truthful-site.ts';

/**
 * What a hold starts with where a request sets no maximum, and what it grows by: tokens of output
 * for each choice.
 */
export const DEFAULT_OUTPUT = 100;
/**
 * Estimates are at least 0.9 of what o200k_base counts, so a bill can exceed its hold by this
 * factor.
 */
export const ESTIMATE_ERROR = 1 / 0.9;
/** The most that a bill may exceed a counted charge by, as a factor. */
export const COUNT_ERROR = 1.02;
/** Nanodollars a token, for each USD a million tokens. */
const NANOS_PER_PRICE = 1_000;

/** What a hold grows by, in nanodollars. */
export function stepNanos(model = 'vendor-cheap', choices = 1): number {
  return (HOST_MODELS[model]?.output ?? 0) * DEFAULT_OUTPUT * choices;
}

/** Where a request goes, what it says, and what its host and its client do. */
export interface Request {
  readonly body: Fields | string;
  readonly wish?: Partial<Wish>;
  readonly leaves?: LeavingPoint;
}

export interface SiteOptions {
  /** Fields of the config. */
  readonly config?: Fields;
  /** Fields of each provider. */
  readonly provider?: Fields;
  /** Fields of each model. */
  readonly model?: Fields;
}

export class HostileSite extends TruthfulSite<TruthfulHost> {
  #sent = 0;

  static async open({ config = {}, provider = {}, model = {} }: SiteOptions = {}): Promise<HostileSite> {
    const host = await TruthfulHost.start();
    const models = Object.fromEntries(
      Object.entries(HOST_MODELS).map(([upstream, { input, output }]) => {
        const prices = { input: input / NANOS_PER_PRICE, output: output / NANOS_PER_PRICE };
        const terms = { upstream, ...prices, max_output: MAX_OUTPUT, default_output: DEFAULT_OUTPUT, ...model };
        return [upstream.replace('vendor-', ''), terms];
      }),
    );
    const providers = Object.fromEntries(
      Object.keys(MANNERS).map((name) => {
        const base_url = `http://127.0.0.1:${host.upstream.port}/${name}/v1`;
        return [name, { kind: 'openai', base_url, api_key: 'upstream-key-canary-4711', ...provider, models }];
      }),
    );
    return new HostileSite(host, await gatewayBefore(host, { providers, ...config }));
  }

  /** Sends a request to its end, or until its client leaves. */
  async send(key: TestKey, { body, wish, leaves }: Request): Promise<Outcome> {
    const { conversation, text } = this.prepare({ body, wish: wish ?? {}, leaves: leaves ?? 'never' });
    const received = await send({ port: this.gateway.port, secret: key.secret, body: text, conversation });
    // Of a client that left, the request may still be on the way to the host.
    if (conversation.bills.length > 0 || received.status !== 0) this.host.forget(conversation);
    return { ...received, conversation };
  }

  /** Sends several at once. */
  race(key: TestKey, requests: readonly Request[]): Promise<Outcome[]> {
    return Promise.all(requests.map((request) => this.send(key, request)));
  }

  /**
   * The text of a body with the id of its conversation: a text that is a whole object gets it in
   * front.
   */
  private prepare({ body, wish, leaves }: Required<Request>): { conversation: Conversation; text: string } {
    const id = `sent-${++this.#sent}`;
    const conversation = this.host.expect(new Conversation(id, wish, leaves));
    const text = typeof body === 'string' ? `{"user":"${id}",${body.slice(1)}` : JSON.stringify({ user: id, ...body });
    return { conversation, text };
  }
}

export function billsOf(outcomes: readonly Outcome[]): Bill[] {
  return outcomes.flatMap(({ conversation }) => conversation.bills);
}

export function billedNanos(outcomes: readonly Outcome[]): number {
  return billsOf(outcomes).reduce((sum, { costNanos }) => sum + costNanos, 0);
}

/** A request to the cheap model of a host in the manner named. */
export function asks(manner: string, fields: Fields = {}): Fields {
  return { model: `${manner}/cheap`, messages: [{ role: 'user', content: 'Hello' }], ...fields };
}
