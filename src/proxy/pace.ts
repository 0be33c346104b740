/** Measures how fast streams and models write, and how long the ledger takes to grow a hold. Pure: time is an argument. */

/** Minimum time to measure the pace of a stream over, because hosts send chunks of any size. */
const WINDOW_MS = 100;

/** The pace of a stream: the higher of its last window's and its current window's. */
export class Pace {
  #fromMs: number | undefined;
  #fromTokens = 0;
  #before = 0;
  #now = 0;

  /** `tokens`: the total output at that time. */
  add(nowMs: number, tokens: number): void {
    this.#fromMs ??= nowMs;
    const ms = nowMs - this.#fromMs;
    this.#now = Math.max(0, tokens - this.#fromTokens) / Math.max(ms, WINDOW_MS);
    if (ms < WINDOW_MS) return;
    this.#before = this.#now;
    this.#fromMs = nowMs;
    this.#fromTokens = tokens;
  }

  /** The tokens that the stream writes in this time. */
  tokensIn(ms: number): number {
    return ms * this.#tokensPerMs;
  }

  /** The time that the stream takes for these tokens, in milliseconds. */
  msFor(tokens: number): number {
    return tokens / this.#tokensPerMs;
  }

  get #tokensPerMs(): number {
    return Math.max(this.#before, this.#now);
  }
}

const ASSUMED_MS = 50;
/** Upper bound: a ledger that takes longer is considered broken. */
const MOST_MS = 1_000;
/** Decay per measurement, so that a slow growth is forgotten after some faster ones. */
const DECAY = 0.9;

/** Tracks how long growths take at present. */
export class GrowthTimes {
  #ms: number | undefined;

  add(ms: number): void {
    this.#ms = Math.min(MOST_MS, Math.max(ms, DECAY * (this.#ms ?? 0)));
  }

  get ms(): number {
    return this.#ms ?? ASSUMED_MS;
  }
}

/** The assumed pace of a model with few measurements: 300 tokens per second. */
const ASSUMED_TOKENS_PER_MS = 0.3;
/** Upper bound of a pace. No known host that hides thinking is faster: Cerebras, Groq and caches of answers show it. */
const MOST_TOKENS_PER_MS = 1;
/** Minimum output for a measurement: shorter outputs measure the latency to the host. */
const LEAST_TOKENS = 500;
/** Minimum number of outputs before the assumed pace no longer applies. */
const LEAST_OUTPUTS = 20;
/** Margin for outputs faster than every measured one. */
const MARGIN = 1.25;

/** Tracks the highest pace of each model. */
export class ModelPaces {
  /** By model id; the config bounds their number. */
  readonly #known = new Map<string, { outputs: number; tokensPerMs: number }>();

  /** Records the output of one choice, as reported by its host. */
  add(model: string, tokens: number, ms: number): void {
    if (tokens < LEAST_TOKENS) return;
    const { outputs, tokensPerMs } = this.#known.get(model) ?? { outputs: 0, tokensPerMs: 0 };
    const pace = tokens / Math.max(1, ms);
    this.#known.set(model, { outputs: outputs + 1, tokensPerMs: Math.max(tokensPerMs, pace) });
  }

  /** The maximum of tokens that a model can write in this time. */
  mostTokensIn(model: string, ms: number): number {
    const { outputs, tokensPerMs } = this.#known.get(model) ?? { outputs: 0, tokensPerMs: 0 };
    const known = Math.min(MOST_TOKENS_PER_MS, MARGIN * tokensPerMs);
    return Math.ceil(ms * (outputs < LEAST_OUTPUTS ? Math.max(known, ASSUMED_TOKENS_PER_MS) : known));
  }
}
