/** Converts between held money and the output tokens that a stream may show. Pure. */
import type { Model } from '../catalog/catalog.ts';
import { expectedCost, outputPricesAt, pricesFor } from '../catalog/cost.ts';
import type { HostTool } from '../core/host-tools.ts';
import type { Media } from '../core/modalities.ts';
import { costRoundedUp, type Nanos } from '../core/money.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { predictedOutput } from './plan.ts';
import { hiddenThinking } from './thinking.ts';

const MILLION = 1_000_000n;

export interface CoverageOptions {
  /** The request as sent to the host. */
  readonly request: ModelRequest;
  /** The serving model. */
  readonly model: Model;
  /** The estimated input that the hold covers. */
  readonly inputTokens: number;
  /** The maximum output of the request, over all choices; undefined if it declares none. */
  readonly maximumTokens: number | undefined;
  /** Media that the host may bill in addition to text. */
  readonly media: Media;
}

export class Coverage {
  /** The price of a token of audio, and of an image, in tokens of text. */
  readonly audioWeight: number;
  readonly imageWeight: number;
  /** The cost of the request's maximum; undefined without a maximum. */
  readonly mostNanos: Nanos | undefined;
  /** The maximum of output tokens that a stream may show. */
  readonly mostTokens: number;
  /** Nanodollars for a million tokens of text. */
  readonly #price: Nanos;
  readonly #inputNanos: Nanos;
  /** Output that the hold covers but that a stream does not show: thinking and rejected predictions. */
  readonly #unseenTokens: number;

  /** `hostTools`: including the calls that the hold covers. */
  constructor({ request, model, inputTokens, maximumTokens, media }: CoverageOptions, hostTools: readonly HostTool[]) {
    const prices = pricesFor(model, request.serviceTier);
    const { text, audio, image } = outputPricesAt(prices, inputTokens);
    const extras = { ...request, ...media, hostTools };
    const cost = (outputTokens: number) => expectedCost(prices, inputTokens, outputTokens, extras);
    const predicted = predictedOutput(request);
    const hidden = hiddenThinking(request, model) * request.choices;
    // If text is free, only audio and images cost money.
    const possible = [text, media.speaks ? audio : 0n, media.draws ? image : 0n];
    this.#price = possible.find((price) => price > 0n) ?? 0n;
    this.#inputNanos = cost(0);
    this.#unseenTokens = predicted + (Number.isFinite(hidden) ? hidden : 0);
    const weightOf = (price: Nanos) => (this.#price === 0n ? 1 : Number(price) / Number(this.#price));
    this.audioWeight = weightOf(audio);
    this.imageWeight = weightOf(image);
    this.mostNanos = maximumTokens === undefined ? undefined : cost(maximumTokens + predicted);
    this.mostTokens =
      this.mostNanos === undefined ? Number.POSITIVE_INFINITY : this.outputIn(this.mostNanos) - predicted;
  }

  /** The money to hold for a stream that shows this many tokens. */
  nanosFor(tokens: number): Nanos {
    const output = { tokens: tokens + this.#unseenTokens, nanosPerMillion: this.#price };
    return this.#inputNanos + costRoundedUp([output]);
  }

  /** The tokens that a stream may show with a hold. */
  tokensIn(holdNanos: Nanos): number {
    return this.outputIn(holdNanos) - this.#unseenTokens;
  }

  /** The tokens that an amount pays for beyond a hold. */
  tokensFor(nanos: Nanos): number {
    return this.#price === 0n ? Number.POSITIVE_INFINITY : Number((nanos * MILLION) / this.#price);
  }

  /**
   * All output that a hold covers, including output that a stream does not show. Negative if the hold does not cover input
   * and calls.
   */
  outputIn(holdNanos: Nanos): number {
    const left = holdNanos - this.#inputNanos;
    if (this.#price === 0n) return left < 0n ? -1 : Number.POSITIVE_INFINITY;
    return Number((left * MILLION) / this.#price);
  }
}
