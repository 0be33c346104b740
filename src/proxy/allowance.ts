/**
 * What a stream may write: as much as is held for it. The hold grows ahead of it, by its pace, from what is left, so that
 * the stream need not wait; and where nothing is left, that is known before all that is held is used up.
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
  /** What admission has held. */
  readonly holdNanos: Nanos;
  readonly ledger: Ledger;
  readonly counter: TokenCounter;
  readonly growthTimes: GrowthTimes;
}

/** About how long it takes to count the tokens of a stream, in milliseconds. */
const COUNT_MS = 100;
/** The same including the start of the tokenizer, which takes 0.2 s of a core: seconds on a busy machine. */
const FIRST_COUNT_MS = 5_000;
/** The tokenizer is started once less money is left than a stream uses in so many milliseconds. */
const START_AHEAD_MS = 30_000;
/** The share of its hold up to which a slow stream asks for nothing. Short streams never ask. */
const UNASKED_SHARE = 0.5;
/** The longest that a stream waits for the count before it is cut. */
const MOST_WAIT_MS = 5_000;
/** How long a refusal is believed: money may come back. */
const REFUSAL_MS = 500;
/** Fewer tokens than this are not worth another look, or another count. */
const FEW_TOKENS = 16;
/** Hosts have other tokenizers: a count up to so many times the maximum says nothing against one that obeys it. */
const MOST_OF_MAXIMUM = 1.25;

export class StreamAllowance implements Allowance {
  askAt = -1;
  excessTokens = 0;
  readonly audioWeight: number;
  readonly imageWeight: number;
  readonly #options: AllowanceOptions;
  /** The calls of tools that the hold is to cover. */
  #tools: readonly HostTool[];
  #coverage: Coverage;
  /** What a hold grows by at a time. */
  readonly #stepTokens: number;
  readonly #pace = new Pace();
  #holdNanos: Nanos;
  /** The host has written more than the maximum that it was told. */
  #isBeyondMaximum = false;
  #growing: Promise<void> | undefined;
  /** Why the last growth was refused, if it was. */
  #refusal: ClientError | undefined;
  /** The tokens that the money beyond the hold pays for, as of the last growth; undefined before the first. */
  #leftTokens: number | undefined;
  #answeredAtMs = 0;
  #counting: Promise<boolean> | undefined;
  /** What was written when it was last counted: by the estimate, and of texts by the count. */
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

  /** With the next event, or once there may be more than the request allows. */
  #askSoon(): void {
    this.askAt = this.#isFull ? LEAST_ESTIMATE * this.#mostOfMaximum : -1;
  }

  get #coveredTokens(): number {
    return this.#coverage.tokensIn(this.#holdNanos);
  }

  /** All that the request allows is held, as far as its host obeys. */
  get #isFull(): boolean {
    const { mostNanos } = this.#coverage;
    return !this.#isBeyondMaximum && mostNanos !== undefined && this.#holdNanos >= mostNanos;
  }

  get #mostOfMaximum(): number {
    return MOST_OF_MAXIMUM * this.#coverage.mostTokens;
  }

  /** Begins to hold more if the answer might be late otherwise, and says when to look again. */
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

  /** The tokens that may be written before a growth is answered and, if it leaves nothing, all tokens are counted. */
  #tokensAhead(covered: number): number {
    const { growthTimes, counter } = this.#options;
    const usual = this.#pace.tokensIn(2 * growthTimes.ms + COUNT_MS);
    // The first growth shows whether the tokenizer has to be loaded.
    if (counter.isLoaded || this.#leftTokens !== undefined) return usual;
    return Math.max(usual, Math.min(this.#pace.tokensIn(FIRST_COUNT_MS), (1 - UNASKED_SHARE) * covered));
  }

  /** Before a stream is cut its tokens are counted, which takes a while, and much longer for the first stream after a start. */
  #countIfShort(meter: Meter): void {
    const aheadMs = this.#options.counter.isLoaded ? 0 : START_AHEAD_MS;
    if (this.#leftTokens !== undefined && this.#leftTokens <= this.#pace.tokensIn(aheadMs)) void this.#count(meter);
  }

  /** For a stream that has used up what is held. */
  async #wait(meter: Meter): Promise<ClientError | undefined> {
    // In the time of one step its host writes no more than that beyond the money.
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

  /** Holds more, in whole steps, for so many tokens, or as much of that as is left. */
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
    // Never more than all that the request allows, while its host obeys.
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

  /** Counts what was written since the last count. False if that is next to nothing, or takes too long. */
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
   * A stream whose maximum is held is not cut because an estimate is too high: only what is counted shows that its host
   * writes more than it was told. The stream does not wait for that.
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

/** The next event asks again, or its answer says what is wrong. */
function ignore(): void {}
