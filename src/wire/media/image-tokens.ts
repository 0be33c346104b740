/**
 * What hosts make of an image, in tokens, by the rules that they publish. Sources, of which copies were read on
 * 2026-11-22:
 * - OpenAI, guide "Images and vision" (developers.openai.com/api/docs/guides/images-vision), of the time of GPT-5.6.
 *   What it says of GPT-6 was not to be had.
 * - Anthropic, guide "Vision" and the migration guide of Sonnet 5.5 (platform.claude.com/docs).
 * - Google, guides "Image understanding" and "Media resolution" (ai.google.dev/gemini-api/docs), of the time of Gemini
 *   3. The figures of Gemini 4 were not to be had.
 */
import type { ImageSize } from './image-size.ts';

/** The rule of OpenAI's older models: tokens for an image, and for each of its tiles. */
export interface TileTokens {
  readonly base: number;
  readonly tile: number;
}

/** What no image has more of: 2048 x 768 pixels. */
const MOST_TILES = 8;

/**
 * OpenAI's tiles: the image is fitted into 2048 x 2048, then its shortest side to 768, and covered with tiles of 512 x
 * 512. The guide could be read as if small images were enlarged to that, but one of 128 x 64 was billed a single tile
 * (community.openai.com, thread 1262691). Without a size it is as many tiles as there can be.
 */
export function tileTokens(size: ImageSize | undefined, { base, tile }: TileTokens): number {
  return base + tile * (size === undefined ? MOST_TILES : mostOf(size, tilesOf));
}

/**
 * The most that any rule known today makes of an image. Without a size it is infinite: GPT-5.6 has no most for an
 * image, so the context window of the model is what bounds it.
 */
export function dearestImageTokens(size: ImageSize | undefined): number {
  if (size === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(...RULES.map((rule) => mostOf(size, rule)));
}

const RULES = [gpt4oMiniTokens, openAiPatchTokens, claudeTokens, geminiTokens];

/** By whichever of its sizes a decoder goes. */
function mostOf(size: ImageSize, rule: (size: ImageSize) => number): number {
  return Math.max(...(size.candidates ?? [size]).map(rule));
}

/** Sides are rounded so that there are more tiles rather than fewer. */
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

/** How many squares cover an image. */
function patches(width: number, height: number, side: number): number {
  return Math.ceil(width / side) * Math.ceil(height / side);
}

/**
 * The dearest base and tile of the guide's table, at 36,835 for an ordinary 6 tiles. All others are at most 85 and
 * 170.
 */
const GPT_4O_MINI: TileTokens = { base: 2_833, tile: 5_667 };

function gpt4oMiniTokens(size: ImageSize): number {
  return tileTokens(size, GPT_4O_MINI);
}

/** Of the nano models, the most in the guide's table; newer models, for which it has none, were measured at 1.2. */
const MOST_TOKENS_PER_PATCH = 2.46;

/**
 * OpenAI's 32-pixel patches. Most models shrink an image to 1,536, 2,500 or, with `detail: original`, 10,000 of them;
 * GPT-5.6 shrinks none with `original`, `auto` or no `detail`.
 */
function openAiPatchTokens({ width, height }: ImageSize): number {
  return Math.ceil(patches(width, height, 32) * MOST_TOKENS_PER_PATCH);
}

/**
 * Claude's 28-pixel patches, which Claude 4.7 and later shrink an image to 4,784 of (2,576 pixels on the long edge),
 * earlier ones to 1,568; and what older guides say of those: a token for 750 pixels, up to about 1,600.
 */
function claudeTokens({ width, height }: ImageSize): number {
  return Math.max(Math.min(4_784, patches(width, height, 28)), Math.min(1_600, Math.ceil((width * height) / 750)));
}

/**
 * Gemini: up to 2,240 by media resolution (`ultra_high`, Gemini 3), or 258 for each tile. Up to 384 x 384 is one tile.
 * Larger images are cut into tiles of two thirds of their shorter side, by the rough formula of the guide, which has
 * no least side; its tiles are 768 x 768, so that none is larger. Vertex AI's guide to the models before has 256 as
 * the least side.
 */
function geminiTokens({ width, height }: ImageSize): number {
  const side = Math.min(768, Math.max(1, Math.floor(Math.min(width, height) / 1.5)));
  const tiles = width <= 384 && height <= 384 ? 1 : patches(width, height, side);
  return Math.max(2_240, 258 * tiles);
}
