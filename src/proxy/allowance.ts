/**
 * Limits a stream to the output that its hold covers. The hold grows ahead of the stream, at the pace of the stream, so that
 * the stream need not wait. If no money is left, the gateway learns it before the hold is used up.
 */

import { LEAST_ESTIMATE, pricesFor } from '../catalog/cost.ts';
import { toolsFor } from '../catalog/tool-cost.ts';
import type { ClientError } from '../core/errors.ts';
import type { HostTool, ToolCall } from '../core/host-tools.ts';
import type { Nanos } from '../core/money.ts';
import { within } from '../core/within.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Meter } from '../relay/meter.ts';
import type { Allowance } from '../relay/relay.ts';
import type { TokenCounter } from '../tokens/counter.ts';
import { countSample } from '../tokens/usage.ts';
import { Coverage, type CoverageOptions } from './coverage.ts';
import { type GrowthTimes, Pace } from './pace.ts';
import { outOfMoney } from './refusals.ts';
import { withCalls } from './tool-calls.ts';

export interface AllowanceOptions extends CoverageOptions {
  readonly requestId: string;
  /** The amount that admission held. */
  readonly holdNanos: Nanos;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly growthTimes: GrowthTimes;
}

/** Approximate time to count the tokens of a stream, in milliseconds. */
const COUNT_MS = 100;
/** The same including the start of the tokenizer: 0.2 s of CPU time, seconds on a busy machine. */
const FIRST_COUNT_MS = 5_000;
/** The tokenizer is loaded once the remaining money covers less than this time of output, in milliseconds. */
const START_AHEAD_MS = 30_000;
/** A slow stream first grows its hold after using this share of it. Short streams never grow it. */
const UNASKED_SHARE = 0.5;
/** Maximum time a stream waits for the count before it is cut, in milliseconds. */
const MOST_WAIT_MS = 5_000;
/** How long a refused growth is cached, in milliseconds: money may be released again. */
const REFUSAL_MS = 500;
/** Minimum number of new tokens before the stream is checked or counted again. */
const FEW_TOKENS = 16;
/** Tolerance for the maximum: hosts use other tokenizers, so a host that obeys it may exceed it by our count. */
const MOST_OF_MAXIMUM = 1.25;

export class StreamAllowance implements Allowance {
  askAt = -1;
  excessTokens = 0;
  readonly audioWeight: number;
  readonly imageWeight: number;
  readonly #options: AllowanceOptions;
  /** The tool calls that the hold covers. */
  #tools: readonly HostTool[];
  #coverage: Coverage;
  /** The increment of a hold, in tokens. */
  readonly #stepTokens: number;
  readonly #pace = new Pace();
  #holdNanos: Nanos;
  /** The host has exceeded the declared maximum. */
  #isBeyondMaximum = false;
  #growing: Promise<void> | undefined;
  /** The refusal of the last growth, if it was refused. */
  #refusal: ClientError | undefined;
  /** The tokens that the money beyond the hold pays for, as of the last growth; undefined before the first. */
  #leftTokens: number | undefined;
  #answeredAtMs = 0;
  #counting: Promise<boolean> | undefined;
  /** The output at the last count: as estimated, and the counted tokens of its text. */
  #estimated = 0;
  #counted = 0;

  constructor(options: AllowanceOptions) {
    this.#options = options;
    this.#stepTokens = options.model.defaultOutput * options.request.choices;
    this.#holdNanos = options.holdNanos;
    const { model, request } = options;
    this.#tools = toolsFor(model, pricesFor(model, request.serviceTier), request.hostTools);
    this.#coverage = new Coverage(options, this.#tools);
    this.audioWeight = this.#coverage.audioWeight;
    this.imageWeight = this.#coverage.imageWeight;
    this.#askSoon();
  }

  coversCalls(calls: readonly ToolCall[]): boolean {
    return withCalls(this.#tools, calls) === this.#tools;
  }

  ask(meter: Meter): Promise<ClientError | undefined> | undefined {
    if (!this.coversCalls(meter.calls)) {
      this.#tools = withCalls(this.#tools, meter.calls);
      this.#coverage = new Coverage(this.#options, this.#tools);
    }
    if (this.#isFull) {
      this.#checkMaximum(meter);
      return undefined;
    }
    const written = meter.outputTokens(this);
    this.#pace.add(meter.nowMs, written);
    if (written > this.#coveredTokens) return this.#wait(meter);
    this.#lookAhead(meter, written);
    return undefined;
  }

  /** Schedules the next check: at the next event, or, with a full hold, once the output may exceed the maximum. */
  #askSoon(): void {
    this.askAt = this.#isFull ? LEAST_ESTIMATE * this.#mostOfMaximum : -1;
  }

  get #coveredTokens(): number {
    return this.#coverage.tokensIn(this.#holdNanos);
  }

  /** True if the hold covers the whole maximum, unless the host has exceeded it. */
  get #isFull(): boolean {
    const { mostNanos } = this.#coverage;
    return !this.#isBeyondMaximum && mostNanos !== undefined && this.#holdNanos >= mostNanos;
  }

  get #mostOfMaximum(): number {
    return MOST_OF_MAXIMUM * this.#coverage.mostTokens;
  }

  /** Starts to grow the hold if waiting longer could stall the stream, and schedules the next check. */
  #lookAhead(meter: Meter, written: number): void {
    const covered = this.#coveredTokens;
    const ahead = this.#tokensAhead(covered);
    const startAt = covered - ahead;
    if (written > startAt && this.#growing === undefined && this.#refusal === undefined) {
      this.#grow(written + ahead).then(() => this.#countIfShort(meter), ignore);
    }
    const isAsking = this.#growing !== undefined || this.#refusal !== undefined;
    this.askAt = isAsking ? covered : Math.min(startAt, written + Math.max(FEW_TOKENS, (startAt - written) / 2));
  }

  /**
   * The tokens that the stream may write while a growth is pending and, if the growth finds no more money, during the count.
   */
  #tokensAhead(covered: number): number {
    const { growthTimes, counter } = this.#options;
    const usual = this.#pace.tokensIn(2 * growthTimes.ms + COUNT_MS);
    // The first growth shows whether the tokenizer has to be loaded.
    if (counter.isLoaded || this.#leftTokens !== undefined) return usual;
    return Math.max(usual, Math.min(this.#pace.tokensIn(FIRST_COUNT_MS), (1 - UNASKED_SHARE) * covered));
  }

  /**
   * Counts early if money runs short: the exact count must be known before a stream is cut, and the first one loads the
   * tokenizer.
   */
  #countIfShort(meter: Meter): void {
    const aheadMs = this.#options.counter.isLoaded ? 0 : START_AHEAD_MS;
    if (this.#leftTokens !== undefined && this.#leftTokens <= this.#pace.tokensIn(aheadMs)) void this.#count(meter);
  }

  /** Waits for a larger hold, for a stream that has used up its own. */
  async #wait(meter: Meter): Promise<ClientError | undefined> {
    // During one step, the host writes at most one step of tokens beyond the money.
    const untilMs = meter.nowMs + Math.min(MOST_WAIT_MS, this.#pace.msFor(this.#stepTokens));
    for (;;) {
      await this.#growing;
      const written = meter.outputTokens(this);
      if (this.#isFull || written <= this.#coveredTokens) return undefined;
      const isNews = this.#refusal !== undefined && performance.now() - this.#answeredAtMs < REFUSAL_MS;
      if (!isNews) await this.#grow(written);
      else if (!(await this.#isCounted(meter, untilMs))) return this.#refusal;
    }
  }

  /** Grows the hold to cover this many tokens, in whole steps, or by the remaining money if it is less. */
  #grow(toward: number): Promise<void> {
    this.#growing = this.#growNow(toward).finally(() => {
      this.#growing = undefined;
      this.#askSoon();
    });
    return this.#growing;
  }

  async #growNow(toward: number): Promise<void> {
    const { requestId, ledger, growthTimes } = this.#options;
    const { mostNanos = 0n } = this.#coverage;
    const steps = Math.max(1, Math.ceil((toward - this.#coveredTokens) / this.#stepTokens));
    const cost = this.#coverage.nanosFor(this.#coveredTokens + steps * this.#stepTokens);
    // While the host obeys its maximum, the hold never exceeds the cost of that maximum.
    const holdNanos = this.#holdNanos < mostNanos && mostNanos < cost ? mostNanos : cost;
    const startedAtMs = performance.now();
    const outputTokens = this.#coverage.outputIn(holdNanos);
    const grant = await ledger.grow({ requestId, outputTokens, holdNanos });
    this.#answeredAtMs = performance.now();
    growthTimes.add(this.#answeredAtMs - startedAtMs);
    this.#refusal = grant.granted ? undefined : outOfMoney(grant.refusal);
    this.#leftTokens = 0;
    if (!grant.granted) return;
    this.#holdNanos = grant.holdNanos;
    const { leftNanos } = grant;
    this.#leftTokens = leftNanos === undefined ? Number.POSITIVE_INFINITY : this.#coverage.tokensFor(leftNanos);
  }

  /** Counts the output since the last count. False if there is too little of it, or the count takes too long. */
  async #isCounted(meter: Meter, untilMs: number): Promise<boolean> {
    if (this.#counting === undefined && meter.written.tokens - this.#estimated < FEW_TOKENS) return false;
    return within(untilMs - meter.nowMs, this.#count(meter), () => false);
  }

  /** False if it takes too long. */
  #count(meter: Meter): Promise<boolean> {
    this.#counting ??= this.#countNow(meter).finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countNow({ written }: Meter): Promise<boolean> {
    const { tokens, unseenTokens } = written;
    const counted = await countSample(this.#options.counter, written, 'cut');
    if (counted === undefined) return false;
    this.#estimated = tokens;
    this.#counted = counted - unseenTokens;
    this.excessTokens = Math.max(0, tokens - counted);
    return true;
  }

  /**
   * A high estimate alone does not cut a stream whose maximum is held; only a count proves that the host exceeds the maximum.
   * The stream does not wait for the count.
   */
  #checkMaximum(meter: Meter): void {
    this.askAt = Number.POSITIVE_INFINITY;
    void this.#count(meter).then((isCounted) => {
      const left = this.#mostOfMaximum - meter.outputTokensIf(this.#counted, this);
      if (isCounted && left < 0) {
        this.#isBeyondMaximum = true;
        this.#askSoon();
      } else {
        const more = isCounted ? Math.max(this.#stepTokens, LEAST_ESTIMATE * left) : FEW_TOKENS;
        this.askAt = meter.outputTokens(this) + more;
      }
    });
  }
}

/** The next event asks again, and its response reports the error. */
function ignore(): void {}
