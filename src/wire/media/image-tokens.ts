/**
 * Image tokens by the rules that hosts publish. Sources, read on 2026-11-22:
 * - OpenAI, guide "Images and vision" (developers.openai.com/api/docs/guides/images-vision), for GPT-5.6. Its rules for GPT-6
 *   were not available.
 * - Anthropic, guide "Vision" and the migration guide of Sonnet 5.5 (platform.claude.com/docs).
 * - Google, guides "Image understanding" and "Media resolution" (ai.google.dev/gemini-api/docs), for Gemini 3. The rules for
 *   Gemini 4 were not available.
 */
import type { ImageSize } from './image-size.ts';

/** The rule of OpenAI's older models: tokens per image and per tile. */
export interface TileTokens {
  readonly base: number;
  readonly tile: number;
}

/** The maximum tiles of an image: 2048 x 768 pixels. */
const MOST_TILES = 8;

/**
 * Returns tokens by OpenAI's tiles: the image is fitted into 2048 x 2048, then its shortest side to 768, and covered with
 * tiles of 512 x 512. The guide might mean that small images are enlarged, but one of 128 x 64 was billed a single tile
 * (community.openai.com, thread 1262691). Without a size the maximum counts.
 */
export function tileTokens(size: ImageSize | undefined, { base, tile }: TileTokens): number {
  return base + tile * (size === undefined ? MOST_TILES : mostOf(size, tilesOf));
}

/**
 * Returns the maximum over all known rules. Infinite without a size: GPT-5.6 has no maximum per image, so only the model's
 * context window bounds it.
 */
export function dearestImageTokens(size: ImageSize | undefined): number {
  if (size === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(...RULES.map((rule) => mostOf(size, rule)));
}

const RULES = [gpt4oMiniTokens, openAiPatchTokens, claudeTokens, geminiTokens];

/** Returns the maximum over the sizes that decoders may use. */
function mostOf(size: ImageSize, rule: (size: ImageSize) => number): number {
  return Math.max(...(size.candidates ?? [size]).map(rule));
}

/** Rounds the sides so that the tiles are never too few. */
function tilesOf({ width, height }: ImageSize): number {
  let long = Math.max(width, height);
  let short = Math.min(width, height);
  if (long > 2048) {
    short = Math.max(1, Math.floor((short * 2048) / long));
    long = 2048;
  }
  if (short > 768) {
    long = Math.ceil((long * 768) / short);
    short = 768;
  }
  return patches(long, short, 512);
}

/** Returns the number of squares that cover an image. */
function patches(width: number, height: number, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side);
}

/** The highest base and tile in the guide's table, at 36,835 for an ordinary 6 tiles. All others are at most 85 and 170. */
const GPT_4O_MINI: TileTokens = { base: 2_833, tile: 5_667 };

function gpt4oMiniTokens(size: ImageSize): number {
  return tileTokens(size, GPT_4O_MINI);
}

/** The maximum in the guide's table, for nano models. Newer models, which the guide omits, were measured at 1.2. */
const MOST_TOKENS_PER_PATCH = 2.46;

/**
 * OpenAI's 32-pixel patches. Most models shrink an image to 1,536, 2,500 or, with `detail: original`, 10,000 of them;
 * GPT-5.6 shrinks none with `original`, `auto` or no `detail`.
 */
function openAiPatchTokens({ width, height }: ImageSize): number {
  return Math.ceil(patches(width, height, 32) * MOST_TOKENS_PER_PATCH);
}

/**
 * Claude's 28-pixel patches: Claude 4.7 and later shrink an image to 4,784 of them (2,576 pixels on the long edge), earlier
 * models to 1,568. By older guides, earlier models count a token per 750 pixels, up to about 1,600.
 */
function claudeTokens({ width, height }: ImageSize): number {
  return Math.max(Math.min(4_784, patches(width, height, 28)), Math.min(1_600, Math.ceil((width * height) / 750)));
}

/**
 * Gemini: up to 2,240 by media resolution (`ultra_high`, Gemini 3), or 258 per tile. Up to 384 x 384 is one tile. Larger
 * images are split into tiles of two thirds of their shorter side, by the guide's rough formula, which has no minimum side;
 * tiles are at most 768 x 768. Vertex AI's guide to earlier models has a minimum side of 256.
 */
function geminiTokens({ width, height }: ImageSize): number {
  const side = Math.min(768, Math.max(1, Math.floor(Math.min(width, height) / 1.5)));
  const tiles = width <= 384 && height <= 384 ? 1 : patches(width, height, side);
  return Math.max(2_240, 258 * tiles);
}
