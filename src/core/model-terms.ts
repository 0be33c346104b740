/** The terms of a model: its prices, its maximum output, and its fallbacks. */
import type { CacheTerms } from './cached-answers.ts';
import type { Nanos } from './money.ts';

/** The provider in a model id: the part before the first slash. */
export function providerOf(modelId: string): string {
  return modelId.split('/', 1)[0] as string;
}

/** Prices in nanodollars per million tokens. */
export interface Prices {
  readonly input: Nanos;
  readonly cachedInput: Nanos;
  readonly output: Nanos;
  /** Input that the host writes to its prompt cache. */
  readonly cacheWrite: Nanos;
  /** The same, to be kept for an hour. */
  readonly cacheWrite1h: Nanos;
  /** Undefined where audio has no price. */
  readonly audioInput?: Nanos | undefined;
  readonly cachedAudioInput?: Nanos | undefined;
  readonly audioOutput?: Nanos | undefined;
  /** Undefined where images of the input cost what other input does. */
  readonly imageInput?: Nanos | undefined;
  /** Undefined where images of the output have no price. */
  readonly imageOutput?: Nanos | undefined;
  /** The prices of the host's own tools, and of units by their names in `core/units.ts`. */
  readonly tools: ReadonlyMap<string, ToolPrice>;
  /** The prices of a request with more input tokens than `tokens`; undefined if they do not change. */
  readonly above: LongContextPrices | undefined;
}

export interface LongContextPrices extends Pick<Prices, 'input' | 'cachedInput' | 'output'> {
  readonly tokens: number;
}

/** What a call of a tool costs. */
export interface CallPrice {
  /** Nanodollars a call. */
  readonly call: Nanos;
  /** Input tokens that one call may bring in. */
  readonly tokens: number;
  /** Input tokens that all calls of a request may bring in together; undefined for any number. */
  readonly mostTokens?: number | undefined;
}

/** The price of a tool: for the usual values of its fields, and for others. */
export interface ToolPrice extends CallPrice {
  readonly variants: readonly ToolVariant[];
  /** It is the same however the tool is set. */
  readonly isFlat?: true;
  /** Of a unit: the fewest that a request costs. */
  readonly least?: number;
  /** The most calls of a request whose format has no maximum; undefined for the default of the tool. */
  readonly maxCalls?: number | undefined;
  /** A call may fill the context window, and the config has no `context_window`. */
  readonly lacksWindow?: true;
}

/** The price of a call when some fields of the tool have these values. */
export interface ToolVariant extends CallPrice {
  readonly fields: ReadonlyMap<string, string>;
}

/** How a model counts an image by its tiles, as OpenAI publishes it: `base`, and `tile` for each. */
export interface ImageTiles {
  readonly base: number;
  readonly tile: number;
}

/** What the input tokens of attachments go by. */
export interface InputTerms {
  /** The most tokens of an image; undefined for the dearest that is known of any model. */
  readonly imageTokens: number | ImageTiles | undefined;
  /** The longest sound that the model transcribes, in seconds. A file whose length cannot be determined is held at it. */
  readonly maxSeconds: number;
  /** Whether input may be named that the gateway cannot see, for which the context window is held. */
  readonly remoteFiles: boolean;
  /** The most tokens of input and output together; undefined if the config does not say. */
  readonly contextWindow: number | undefined;
}

/** Kinds of input beside text that a model may read. */
export const INPUT_KINDS = ['image', 'pdf', 'audio', 'video'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];

export interface ModelTerms extends Prices, InputTerms {
  /** The day of the price file that its prices come from, such as `2026-11-22`; undefined for those of the config. */
  readonly pricesOf: string | undefined;
  /** It has prices of units, and none of tokens: those are 0 here. */
  readonly isWithoutTokenPrices?: boolean;
  /** What it reads beside text, which clients are told; undefined if the config does not say. */
  readonly reads: readonly InputKind[] | undefined;
  /** The name that the upstream has for the model. */
  readonly upstream: string;
  /** The prices of each `service_tier` that requests may name, besides `auto` and `default`. */
  readonly serviceTiers: ReadonlyMap<string, Prices>;
  /** The most output tokens of one answer; undefined if unlimited. */
  readonly maxOutput: number | undefined;
  /** The output tokens to hold money for if a request declares no maximum. */
  readonly defaultOutput: number;
  /** The most output tokens to hold money for when a stream begins; undefined for all that it may write. */
  readonly holdOutput: number | undefined;
  /** Fields that requests in another dialect leave out when they are translated for it. */
  readonly ignoreFields: readonly string[];
  /** Whether translated requests get cache points where their client cannot mark them. */
  readonly setsCachePoints: boolean;
  /** How its answers are kept to be given again; undefined if they are not. */
  readonly cache: CacheTerms | undefined;
  /** Ids of the models to use while this one is unavailable, in the order of preference. */
  readonly fallback: readonly string[];
}
