/** How fast streams and models write, and how long the ledger takes to hold more for a stream. Pure: time is an argument. */

/** Less does not say how fast a stream is: hosts send pieces of any size. */
const WINDOW_MS = 100;

/** The pace of a stream: of its last window, or of this one if that is faster. */
export class Pace {
  #fromMs: number | undefined;
  #fromTokens = 0;
  #before = 0;
  #now = 0;

  /** `tokens`: all that it has written by then. */
  add(nowMs: number, tokens: number): void {
    this.#fromMs ??= nowMs;
    const ms = nowMs - this.#fromMs;
    this.#now = Math.max(0, tokens - this.#fromTokens) / Math.max(ms, WINDOW_MS);
    if (ms < WINDOW_MS) return;
    this.#before = this.#now;
    this.#fromMs = nowMs;
    this.#fromTokens = tokens;
  }

  /** What it writes in so many milliseconds. */
  tokensIn(ms: number): number {
    return ms * this.#tokensPerMs;
  }

  /** How many milliseconds it takes to write that. */
  msFor(tokens: number): number {
    return tokens / this.#tokensPerMs;
  }

  get #tokensPerMs(): number {
    return Math.max(this.#before, this.#now);
  }
}

const ASSUMED_MS = 50;
/** A ledger that takes longer is out of order. */
const MOST_MS = 1_000;
/** A slow answer counts for as long as it takes to measure some more. */
const DECAY = 0.9;

/** How long growths take at present. */
export class GrowthTimes {
  #ms: number | undefined;

  add(ms: number): void {
    this.#ms = Math.min(MOST_MS, Math.max(ms, DECAY * (this.#ms ?? 0)));
  }

  get ms(): number {
    return this.#ms ?? ASSUMED_MS;
  }
}

/** Taken for a model of which little is known: 300 tokens a second. */
const ASSUMED_TOKENS_PER_MS = 0.3;
/** No host that hides thinking is known to be faster. Those that are (Cerebras, Groq) show it; so do caches of answers. */
const MOST_TOKENS_PER_MS = 1;
/** Shorter outputs say more of the way to a host than of its pace. */
const LEAST_TOKENS = 500;
/** The fastest of fewer outputs may not be what a model can do. */
const LEAST_OUTPUTS = 20;
/** The next output may be faster than any before it. */
const MARGIN = 1.25;

/** How fast models write at most. */
export class ModelPaces {
  /** By the id of the model, of which there are as many as in the config. */
  readonly #known = new Map<string, { outputs: number; tokensPerMs: number }>();

  /** Learns from an output that its host has reported, of one choice. */
  add(model: string, tokens: number, ms: number): void {
    if (tokens < LEAST_TOKENS) return;
    const { outputs, tokensPerMs } = this.#known.get(model) ?? { outputs: 0, tokensPerMs: 0 };
    const pace = tokens / Math.max(1, ms);
    this.#known.set(model, { outputs: outputs + 1, tokensPerMs: Math.max(tokensPerMs, pace) });
  }

  /** The most tokens that a model has written in so many milliseconds. */
  mostTokensIn(model: string, ms: number): number {
    const { outputs, tokensPerMs } = this.#known.get(model) ?? { outputs: 0, tokensPerMs: 0 };
    const known = Math.min(MOST_TOKENS_PER_MS, MARGIN * tokensPerMs);
    return Math.ceil(ms * (outputs < LEAST_OUTPUTS ? Math.max(known, ASSUMED_TOKENS_PER_MS) : known));
  }
}
