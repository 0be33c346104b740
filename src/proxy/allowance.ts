/** What a stream may write: as much as is held for it. The hold grows with it, from what is left. */
import type { Model } from '../catalog/catalog.ts';
import { expectedCost, outputPrices, pricesFor } from '../catalog/cost.ts';
import { toolsFor } from '../catalog/tool-cost.ts';
import type { ClientError } from '../core/errors.ts';
import type { HostTool, ToolCall } from '../core/host-tools.ts';
import { costRoundedUp, type Nanos } from '../core/money.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Meter } from '../relay/meter.ts';
import type { Allowance } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countSample } from '../tokens/usage.ts';
import { outOfMoney } from './refusals.ts';
import { withCalls } from './tool-calls.ts';

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

const MILLION = 1_000_000;

export class StreamAllowance implements Allowance {
  readonly #options: AllowanceOptions;
  readonly audioWeight: number;
  /** What a hold grows by at a time. */
  readonly #stepTokens: number;
  /** Of the input. */
  #inputNanos: Nanos;
  /** Nanodollars for a million tokens of text. */
  readonly #price: Nanos;
  /** Output tokens that the hold covers. */
  #coveredTokens: number;
  #holdNanos: Nanos;
  /** The calls of tools that the hold covers. */
  #tools: readonly HostTool[];
  /** By how much the estimate of what was written is too high. */
  #excessTokens = 0;

  constructor(options: AllowanceOptions) {
    this.#options = options;
    this.#stepTokens = options.model.defaultOutput * options.request.choices;
    const { model, request, inputTokens } = options;
    const { text, audio } = outputPrices(pricesFor(model, request.serviceTier), inputTokens);
    this.#tools = toolsFor(model, request.hostTools);
    this.#inputNanos = this.#inputCost();
    this.#price = text === 0n ? audio : text;
    this.audioWeight = this.#price === 0n ? 1 : Number(audio) / Number(this.#price);
    this.#holdNanos = options.holdNanos;
    this.#coveredTokens = this.#coveredBy(options.holdNanos);
  }

  get tokens(): number {
    return this.#coveredTokens + this.#excessTokens;
  }

  coversCalls(calls: readonly ToolCall[]): boolean {
    return withCalls(this.#tools, calls) === this.#tools;
  }

  async extend(meter: Meter): Promise<ClientError | undefined> {
    let isCounted = false;
    if (!this.coversCalls(meter.calls)) {
      this.#tools = withCalls(this.#tools, meter.calls);
      this.#inputNanos = this.#inputCost();
      this.#coveredTokens = this.#coveredBy(this.#holdNanos);
    }
    const written = () => meter.outputTokens(this.audioWeight);
    while (written() > this.tokens) {
      const refusal = await this.#grow(written() - this.tokens);
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
    const steps = Math.ceil(moreTokens / this.#stepTokens);
    const outputTokens = Math.max(0, this.#coveredTokens + steps * this.#stepTokens);
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
    if (counted === undefined) return;
    const excess = meter.outputTokens(this.audioWeight) - meter.outputTokensIf(counted, this.audioWeight);
    this.#excessTokens = Math.max(0, excess);
  }

  #inputCost(): Nanos {
    const { model, request, inputTokens } = this.#options;
    return expectedCost(pricesFor(model, request.serviceTier), inputTokens, 0, { ...request, hostTools: this.#tools });
  }

  #costOf(outputTokens: number): Nanos {
    return this.#inputNanos + costRoundedUp([{ tokens: outputTokens, nanosPerMillion: this.#price }]);
  }

  /** Less than none where it does not even cover the input and the calls. */
  #coveredBy(holdNanos: Nanos): number {
    const left = holdNanos - this.#inputNanos;
    if (this.#price === 0n) return left < 0n ? -1 : Number.POSITIVE_INFINITY;
    return Number((left * BigInt(MILLION)) / this.#price);
  }
}
