/** What the truthful host's models cost, and the config that says so. */
import { HOST_MODELS, LONG_INPUT_TOKENS, SERVICE_TIERS, SPECIAL_PRICES } from '../hostile/pricing.ts';
import { DEFAULT_OUTPUT } from '../hostile/site.ts';
import type { HostBill } from './dialogue.ts';
import { COMPOUND_MODEL, TOOL_TERMS } from './host-tools.ts';

/** The most tokens of an answer, whatever a request asks for. */
export const MAX_OUTPUT = 64_000;
/** Input and output together. What a host fetches fills what is left of it at most. */
export const CONTEXT_WINDOW = 1_000_000;
/** The host's name for most of its models: what differs are the terms of the gateway. */
const HOST_MODEL = 'vendor-cheap';
/** This one costs twice as much for all of a request with a long input. */
const LONG_MODEL = 'vendor-long';
const LONG_FACTOR = 2;
/** This one thinks unless it is told not to. */
const THINKING_MODEL = 'vendor-thinking';
/** These look at pictures by tiles of 512 pixels, and by patches of 28. */
const TILED_MODEL = 'vendor-tiles';
const TILES = { base: 2_833, tile: 5_667 };
const PATCHED_MODEL = 'vendor-patches';
const MOST_PATCHES = 4_784;
/** This one looks at patches of 32 pixels, however many there are. */
const BOUNDLESS_MODEL = 'vendor-boundless';
const BOUNDLESS_PATCH_PIXELS = 32;
/** The host refuses all requests for this one, which costs so many times as much. */
export const REFUSING_MODEL = 'vendor-refusing';
export const REFUSING_FACTOR = 10;
/** The model that serves in its place. */
export const SERVING_INSTEAD = 'tiles';
/** A picture of one megapixel at all others. */
const TOKENS_PER_IMAGE = 1_600;
/** These hear and speak at prices of their own; other models hear at that of text. */
const AUDIO_MODEL = 'vendor-audio';
const ATTENTIVE_MODEL = 'vendor-attentive';
/** This one returns images unasked: at least one is held for each request. */
export const DRAWING_MODEL = 'gpt-5-image';
/** Nanodollars for a token of an image. */
const IMAGE_PRICE = 60_000;
/** Of sound, for a second. */
const AUDIO_TOKENS = 10;
const MOST_AUDIO_TOKENS = 32;
const { input, output } = HOST_MODELS[HOST_MODEL] as { input: number; output: number };
/** Nanodollars for a token that is written to a prompt cache. */
const CACHE_WRITE = { '5m': SPECIAL_PRICES.cacheWrite, '1h': 2 * SPECIAL_PRICES.cacheWrite };

/** The first hold for a stream of text, in nanodollars. */
export const firstNanos = (inputTokens: number) => inputTokens * input + DEFAULT_OUTPUT * output;

/** Nanodollars. */
export function costOf(bill: HostBill): number {
  const { audioInput, audioOutput } = hearsAtOwnPrice(bill.model) ? bill : { audioInput: 0, audioOutput: 0 };
  const inputPrice = bill.cached === undefined ? input : CACHE_WRITE[bill.cached];
  const isLong = bill.model === LONG_MODEL && bill.inputTokens > LONG_INPUT_TOKENS;
  const factor = (SERVICE_TIERS[bill.serviceTier ?? ''] ?? 1) * (isLong ? LONG_FACTOR : 1);
  const text = (bill.inputTokens - audioInput) * inputPrice + (bill.outputTokens - audioOutput) * output;
  const sound = audioInput * SPECIAL_PRICES.audioInput + audioOutput * SPECIAL_PRICES.audioOutput;
  const images = bill.imageOutput * (IMAGE_PRICE - factor * output);
  return factor * text + sound + images + bill.callNanos;
}

function hearsAtOwnPrice(model: string): boolean {
  return model === AUDIO_MODEL || model === ATTENTIVE_MODEL;
}

export function audioTokensPerSecond(model: string): number {
  return model === ATTENTIVE_MODEL ? MOST_AUDIO_TOKENS : AUDIO_TOKENS;
}

/** A picture is made to fit a square of this many pixels, and then its shorter side this. */
const FIT = { longer: 2_048, shorter: 768 };
const TILE_PIXELS = 512;
const PATCH_PIXELS = 28;
/** Of these pixels no host makes more tokens. */
const LARGEST = { width: 4_096, height: 1_536 };

/** `size`: in pixels; unknown of a picture at an address, which may be of any. */
export function pictureTokens(model: string, size = LARGEST, detail: unknown = 'high'): number {
  const { width, height } = size;
  if (model === PATCHED_MODEL)
    return Math.min(MOST_PATCHES, across(width, PATCH_PIXELS) * across(height, PATCH_PIXELS));
  if (model === BOUNDLESS_MODEL) return across(width, BOUNDLESS_PATCH_PIXELS) * across(height, BOUNDLESS_PATCH_PIXELS);
  if (model !== TILED_MODEL) return TOKENS_PER_IMAGE;
  if (detail === 'low') return TILES.base;
  const longer = Math.min(1, FIT.longer / Math.max(width, height));
  const shorter = Math.min(1, FIT.shorter / (Math.min(width, height) * longer));
  const scale = longer * shorter;
  return TILES.base + TILES.tile * across(width * scale, TILE_PIXELS) * across(height * scale, TILE_PIXELS);
}

const across = (pixels: number, each: number) => Math.ceil(pixels / each);

/** USD per million tokens, by nanodollars per token. */
const usd = (nanos: number) => nanos / 1_000;
const priced = (factor: number) => ({ input: usd(factor * input), output: usd(factor * output) });
const writes = (factor: number) => ({
  cache_write: usd(factor * CACHE_WRITE['5m']),
  cache_write_1h: usd(factor * CACHE_WRITE['1h']),
});
const windowless = { upstream: HOST_MODEL, ...priced(1), max_output: MAX_OUTPUT, default_output: DEFAULT_OUTPUT };
const plain = { ...windowless, context_window: CONTEXT_WINDOW };
const tiers = { service_tiers: { priority: priced(2), flex: priced(0.5) } };
const long = { ...plain, upstream: LONG_MODEL, above: { tokens: LONG_INPUT_TOKENS, ...priced(LONG_FACTOR) } };
const sound = { audio_input: usd(SPECIAL_PRICES.audioInput), audio_output: usd(SPECIAL_PRICES.audioOutput) };

/**
 * The models of a provider: `growing` begins its streams with little, `thoughtful` does, too,
 * and thinks by itself, `tooled` has prices for all that can be asked for, `caching` for what is written to a cache, `long` for long inputs, `tiered`
 * for those and for service tiers. `fetching` lets its host fetch files, `windowless`
 * has no context window; `tiles` and `patches` say how their host sees,
 * `unsaid` and `boundless` do not. `speaking` and `attentive` have prices for sound, `compound` calls tools
 * of its own accord, `drawing` returns images unasked, and `refusing` is served by a fallback at another host, whose
 * terms differ in each figure.
 */
export const MODELS = {
  cheap: plain,
  growing: { ...plain, hold_output: DEFAULT_OUTPUT },
  thoughtful: { ...plain, upstream: THINKING_MODEL, hold_output: DEFAULT_OUTPUT },
  tooled: {
    ...plain,
    tools: TOOL_TERMS,
    service_tiers: { priority: { ...priced(2), ...writes(2) }, flex: { ...priced(0.5), ...writes(0.5) } },
  },
  caching: { ...plain, ...writes(1) },
  long,
  tiered: { ...long, ...tiers },
  fetching: { ...plain, remote_files: 'context' },
  windowless,
  tiles: { ...plain, upstream: TILED_MODEL, image_tokens: TILES },
  patches: { ...plain, upstream: PATCHED_MODEL, image_tokens: MOST_PATCHES },
  unsaid: { ...plain, upstream: TILED_MODEL },
  boundless: { ...plain, upstream: BOUNDLESS_MODEL },
  speaking: { ...plain, ...sound, upstream: AUDIO_MODEL },
  attentive: { ...plain, ...sound, upstream: ATTENTIVE_MODEL },
  compound: { ...plain, upstream: COMPOUND_MODEL },
  drawing: { ...plain, upstream: DRAWING_MODEL, image_output: usd(IMAGE_PRICE) },
  refusing: { ...windowless, ...priced(REFUSING_FACTOR), upstream: REFUSING_MODEL, image_tokens: 10 },
};

/** The same for a host of messages, which has prices for its cache in any case. */
export const MESSAGES_MODELS = Object.fromEntries(
  Object.entries(MODELS).map(([name, model]) => [name, { ...model, ...writes(1), ...tiersWithWrites(model) }]),
);

function tiersWithWrites(model: object): object {
  if (!('service_tiers' in model) || model.service_tiers !== tiers.service_tiers) return {};
  const { priority, flex } = tiers.service_tiers;
  return { service_tiers: { priority: { ...priority, ...writes(2) }, flex: { ...flex, ...writes(0.5) } } };
}

export type ModelName = keyof typeof MODELS;
