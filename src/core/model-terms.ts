/** The terms of a model: prices, limits, and fallbacks. */
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
  /** Input written to the prompt cache with a lifetime of one hour. */
  readonly cacheWrite1h: Nanos;
  /** Undefined if audio has no price. */
  readonly audioInput?: Nanos | undefined;
  readonly cachedAudioInput?: Nanos | undefined;
  readonly audioOutput?: Nanos | undefined;
  /** Undefined if input images cost the same as other input. */
  readonly imageInput?: Nanos | undefined;
  /** Undefined if output images have no price. */
  readonly imageOutput?: Nanos | undefined;
  /** The prices of host-executed tools, and of units by their names in `core/units.ts`. */
  readonly tools: ReadonlyMap<string, ToolPrice>;
  /** The prices of a request with more input tokens than `tokens`; undefined if they do not change. */
  readonly above: LongContextPrices | undefined;
}

export interface LongContextPrices extends Pick<Prices, 'input' | 'cachedInput' | 'output'> {
  readonly tokens: number;
}

/** The price of a tool call. */
export interface CallPrice {
  /** Nanodollars a call. */
  readonly call: Nanos;
  /** Input tokens that one call may bring in. */
  readonly tokens: number;
  /** Maximum input tokens that all calls of a request together may add; undefined if unlimited. */
  readonly mostTokens?: number | undefined;
}

/** The price of a tool: for the usual values of its fields, and for others. */
export interface ToolPrice extends CallPrice {
  readonly variants: readonly ToolVariant[];
  /** The price is independent of the tool's settings. */
  readonly isFlat?: true;
  /** For a unit: the minimum number charged per request. */
  readonly least?: number;
  /** Maximum calls per request of a tool whose format has no maximum; undefined for the tool's default. */
  readonly maxCalls?: number | undefined;
  /** A call may fill the context window, but the config has no `context_window`. */
  readonly lacksWindow?: true;
}

/** The price of a call when some fields of the tool have these values. */
export interface ToolVariant extends CallPrice {
  readonly fields: ReadonlyMap<string, string>;
}

/** The token count of an image by tiles, as published by OpenAI: `base`, plus `tile` per tile. */
export interface ImageTiles {
  readonly base: number;
  readonly tile: number;
}

/** Settings that determine the input tokens of attachments. */
export interface InputTerms {
  /** Maximum tokens of an image; undefined for the highest count of any known model. */
  readonly imageTokens: number | ImageTiles | undefined;
  /** The longest audio that the model transcribes, in seconds. A file of unknown length is held at this length. */
  readonly maxSeconds: number;
  /** Whether requests may reference input that the gateway cannot see. The context window is held for such input. */
  readonly remoteFiles: boolean;
  /** Maximum tokens of input and output together; undefined if not configured. */
  readonly contextWindow: number | undefined;
}

/** Kinds of input other than text. */
export const INPUT_KINDS = ['image', 'pdf', 'audio', 'video'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];

export interface ModelTerms extends Prices, InputTerms {
  /** The day of the price file, such as `2026-11-22`; undefined for configured prices. */
  readonly pricesOf: string | undefined;
  /** The model has unit prices only; its token prices are 0 here. */
  readonly isWithoutTokenPrices?: boolean;
  /** Kinds of input that the model listing shows to clients; undefined if not configured. */
  readonly reads: readonly InputKind[] | undefined;
  /** The upstream's name of the model. */
  readonly upstream: string;
  /** The prices of each permitted `service_tier` other than `auto` and `default`. */
  readonly serviceTiers: ReadonlyMap<string, Prices>;
  /** Maximum output tokens of one answer; undefined if unlimited. */
  readonly maxOutput: number | undefined;
  /** The output tokens to hold money for if a request declares no maximum. */
  readonly defaultOutput: number;
  /** Maximum output tokens to hold money for at the start of a stream; undefined for the full maximum. */
  readonly holdOutput: number | undefined;
  /** Fields to drop from requests translated for this model. */
  readonly ignoreFields: readonly string[];
  /** Whether translated requests get cache points if their own dialect cannot mark them. */
  readonly setsCachePoints: boolean;
  /** The cache settings; undefined if caching is off. */
  readonly cache: CacheTerms | undefined;
  /** Ids of the models to use while this one is unavailable, in order of preference. */
  readonly fallback: readonly string[];
}
