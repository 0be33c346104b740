/** What a stream may write: as much as is held for it. The hold grows with it, from what is left. */
import type { Model } from '../catalog/catalog.ts';
import { expectedCost, pricesFor } from '../catalog/cost.ts';
import type { ClientError } from '../core/errors.ts';
import type { Nanos } from '../core/money.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Meter } from '../relay/meter.ts';
import type { Allowance } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countSample } from '../tokens/usage.ts';
import { outOfMoney } from './refusals.ts';

export interface AllowanceOptions {
  readonly requestId: string;
  readonly request: ModelRequest;
  /** What admission has held. */
  readonly holdNanos: Nanos;
  /** The estimated input that the hold covers. */
  readonly inputTokens: number;
  /** The model that serves. */
  readonly model: Model;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
}

/** Enough to give the price of a token exactly. */
const MANY_TOKENS = 1_000_000;

export class StreamAllowance implements Allowance {
  readonly #options: AllowanceOptions;
  /** What a hold grows by at a time. */
  readonly #stepTokens: number;
  /** Output tokens that the hold covers. */
  #coveredTokens: number;
  #holdNanos: Nanos;
  /** By how much the estimate of what was written is too high. */
  #excessTokens = 0;

  constructor(options: AllowanceOptions) {
    this.#options = options;
    this.#stepTokens = options.model.defaultOutput * options.request.choices;
    this.#holdNanos = options.holdNanos;
    this.#coveredTokens = this.#coveredBy(options.holdNanos);
  }

  get tokens(): number {
    return this.#coveredTokens + this.#excessTokens;
  }

  async extend(meter: Meter): Promise<ClientError | undefined> {
    let isCounted = false;
    while (meter.outputTokens > this.tokens) {
      const refusal = await this.#grow(meter.outputTokens - this.tokens);
      if (refusal === undefined) continue;
      // Before a stream is cut, its tokens are counted: the estimate may be too high.
      if (isCounted) return refusal;
      await this.#count(meter);
      isCounted = true;
    }
    return undefined;
  }

  /** Holds whole steps for that many more tokens, or as much of them as is left. */
  async #grow(moreTokens: number): Promise<ClientError | undefined> {
    const { requestId, ledger } = this.#options;
    const outputTokens = this.#coveredTokens + Math.ceil(moreTokens / this.#stepTokens) * this.#stepTokens;
    const cost = this.#costOf(outputTokens);
    const holdNanos = cost > this.#holdNanos ? cost : this.#holdNanos;
    const grant = await ledger.grow({ requestId, outputTokens, holdNanos });
    if (!grant.granted) return outOfMoney(grant.refusal);
    this.#holdNanos = grant.holdNanos;
    const covered = grant.holdNanos === holdNanos ? outputTokens : this.#coveredBy(grant.holdNanos);
    this.#coveredTokens = Math.max(this.#coveredTokens, covered);
    return undefined;
  }

  async #count(meter: Meter): Promise<void> {
    const counted = await countSample(this.#options.counter, meter.written);
    if (counted !== undefined) this.#excessTokens = Math.max(0, meter.outputTokens - meter.outputTokensIf(counted));
  }

  #costOf(outputTokens: number): Nanos {
    const { model, request, inputTokens } = this.#options;
    return expectedCost(pricesFor(model, request.serviceTier), inputTokens, outputTokens, request);
  }

  #coveredBy(holdNanos: Nanos): number {
    const input = this.#costOf(0);
    const price = this.#costOf(MANY_TOKENS) - input;
    if (price === 0n) return Number.POSITIVE_INFINITY;
    return Math.max(0, Number(((holdNanos - input) * BigInt(MANY_TOKENS)) / price));
  }
}
