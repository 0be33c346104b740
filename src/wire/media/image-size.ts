/** How many pixels an image has, by every header that a decoder may go by. */
import { kindByStart, type MediaKind } from './kind.ts';

/** In pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
  /** If decoders may differ, the sizes that they may take. `width` and `height` are then the largest of each. */
  readonly candidates?: readonly ImageSize[];
}

/** The sizes that one file may have. A GIF or WebP has one for each frame that is not as large as the whole. */
const MAX_SIZES = 256;
/** The headers that one file may have, and the blocks of a GIF: an animation of some minutes. */
const MAX_HEADERS = 10_000;
const MAX_BLOCKS = 100_000;

/**
 * The largest size that a PNG, JPEG, GIF or WebP could be decoded to. Undefined if it is none of them, or malformed.
 */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const kind = kindByStart(bytes);
  const read = kind && READERS[kind];
  return read?.(bytes)?.result();
}

/** Sizes that are found in a file, each once. */
class Sizes {
  readonly #found = new Map<string, ImageSize>();
  #headers = 0;

  /** A decoder passes over a size without pixels, or refuses the file. */
  add(width: number, height: number): void {
    if (width === 0 || height === 0 || ++this.#headers > MAX_HEADERS) return;
    this.#found.set(`${width}x${height}`, { width, height });
  }

  result(): ImageSize | undefined {
    const candidates = [...this.#found.values()];
    if (candidates.length > MAX_SIZES || this.#headers > MAX_HEADERS) return undefined;
    if (candidates.length <= 1) return candidates[0];
    const width = Math.max(...candidates.map((size) => size.width));
    const height = Math.max(...candidates.map((size) => size.height));
    return { width, height, candidates };
  }
}

const READERS: Partial<Record<MediaKind, (bytes: Buffer) => Sizes | undefined>> = {
  png: pngSizes,
  jpeg: jpegSizes,
  gif: gifSizes,
  webp: webpSizes,
};

const [IHDR, IDAT] = [chunkName('IHDR'), chunkName('IDAT')];

function chunkName(name: string): number {
  return Buffer.from(name).readUInt32BE();
}

/** Of a PNG the header comes first. Pillow goes by the last one that comes before the pixels. */
function pngSizes(bytes: Buffer): Sizes | undefined {
  const sizes = new Sizes();
  for (let at = 8; at + 16 <= bytes.length; at += bytes.readUInt32BE(at) + 12) {
    const name = bytes.readUInt32BE(at + 4);
    if (name === IHDR) sizes.add(bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12));
    else if (at === 8) return undefined;
    if (name === IDAT) break;
  }
  return sizes;
}

/** Markers of a JPEG. Those of frames are C0 to CF, but for three. */
const [DHT, JPEG_EXTENSION, DAC] = [0xc4, 0xc8, 0xcc];
const [RESTART, START_OF_IMAGE, END_OF_IMAGE] = [0xd0, 0xd8, 0xd9];
/** Those whose segments every decoder passes over by their length, besides the frames. */
const SEGMENTS: ReadonlySet<number> = new Set([DHT, DAC, 0xda, 0xdb, 0xdd, 0xfe, ...range(0xe0, 0xef)]);
const FRAMES: ReadonlySet<number> = new Set(
  range(0xc0, 0xcf).filter((marker) => marker !== DHT && marker !== JPEG_EXTENSION && marker !== DAC),
);

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Undefined for markers that decoders treat differently, such as one that sets the height later on. */
function jpegSizes(bytes: Buffer): Sizes | undefined {
  const sizes = new Sizes();
  let at = 2;
  while (at < bytes.length) {
    while (at < bytes.length && bytes[at] !== 0xff) at++;
    while (at < bytes.length && bytes[at] === 0xff) at++;
    const marker = bytes[at++] ?? END_OF_IMAGE;
    // Within the pixels 0 stands for the byte before it, and restarts have no segment.
    if (marker === 0 || (marker >= RESTART && marker < START_OF_IMAGE)) continue;
    if (marker === END_OF_IMAGE || at + 2 > bytes.length) break;
    const length = bytes.readUInt16BE(at);
    if (FRAMES.has(marker)) {
      if (length < 8 || at + 7 > bytes.length || bytes.readUInt16BE(at + 3) === 0) return undefined;
      sizes.add(bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 3));
    } else if (length < 2 || !SEGMENTS.has(marker)) return undefined;
    at += length;
  }
  return sizes;
}

/** Blocks of a GIF. */
const [EXTENSION, FRAME, TRAILER] = [0x21, 0x2c, 0x3b];
/** In the flags of the screen and of frames: a table of colors follows, and how long it is. */
const HAS_COLORS = 0x80;

function colorBytes(flags: number): number {
  return (flags & HAS_COLORS) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/**
 * Decoders take the screen, the screen extended to what its frames need (Pillow), or a frame by itself (ImageMagick).
 */
function gifSizes(bytes: Buffer): Sizes | undefined {
  if (bytes.length < 13) return undefined;
  const sizes = new Sizes();
  let [width, height] = [bytes.readUInt16LE(6), bytes.readUInt16LE(8)];
  sizes.add(width, height);
  let frames = 0;
  let blocks = 0;
  let at = 13 + colorBytes(bytes.readUInt8(10));
  while (at < bytes.length && bytes[at] !== TRAILER) {
    if (++blocks > MAX_BLOCKS) return undefined;
    const block = bytes[at++];
    if (block === EXTENSION) at = afterBlocks(bytes, at + 1);
    // Any other byte is passed over, as Pillow does.
    if (block !== FRAME || at + 9 > bytes.length) continue;
    const [left, top] = [bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
    const [frameWidth, frameHeight] = [bytes.readUInt16LE(at + 4), bytes.readUInt16LE(at + 6)];
    width = Math.max(width, left + frameWidth);
    height = Math.max(height, top + frameHeight);
    sizes.add(frameWidth, frameHeight);
    sizes.add(width, height);
    frames++;
    at = afterBlocks(bytes, at + 9 + colorBytes(bytes.readUInt8(at + 8)) + 1);
  }
  return frames > 0 ? sizes : undefined;
}

/** Where a sequence of blocks ends, each of which begins with its length. */
function afterBlocks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== 0) at += (bytes[at] as number) + 1;
  return at + 1;
}

/** An animation frame of a WebP: its position and size, and then chunks of its own. */
const ANIMATION_FRAME_BYTES = 16;

/**
 * The canvas, and the pictures in it, which the canvas should be as large as. Undefined if a picture cannot be read.
 */
function webpSizes(bytes: Buffer): Sizes | undefined {
  const sizes = new Sizes();
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = bytes.readUInt32BE(at);
    const length = bytes.readUInt32LE(at + 4);
    if (WEBP_CHUNKS.has(name) && !addWebpChunk(name, bytes.subarray(at + 8), sizes)) return undefined;
    at += 8 + (name === ANMF ? ANIMATION_FRAME_BYTES : length + (length & 1));
  }
  return sizes;
}

const [VP8X, VP8L, VP8, ANMF] = [chunkName('VP8X'), chunkName('VP8L'), chunkName('VP8 '), chunkName('ANMF')];
const WEBP_CHUNKS: ReadonlySet<number> = new Set([VP8X, VP8L, VP8, ANMF]);
/** What the data of a key frame has after three bytes. */
const VP8_START = 0x2a019d;
const VP8L_SIGNATURE = 0x2f;

/** False if a decoder would make something else of it. */
function addWebpChunk(name: number, data: Buffer, sizes: Sizes): boolean {
  if (data.length < ANIMATION_FRAME_BYTES) return false;
  if (name === VP8X) sizes.add(data.readUIntLE(4, 3) + 1, data.readUIntLE(7, 3) + 1);
  else if (name === ANMF) {
    const [width, height] = [data.readUIntLE(6, 3) + 1, data.readUIntLE(9, 3) + 1];
    sizes.add(width, height);
    sizes.add(2 * data.readUIntLE(0, 3) + width, 2 * data.readUIntLE(3, 3) + height);
  } else if (name === VP8L) {
    const bits = data.readUInt32LE(1);
    sizes.add((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    return data.readUInt8(0) === VP8L_SIGNATURE;
  } else {
    const [width, height] = [data.readUInt16LE(6), data.readUInt16LE(8)];
    sizes.add(width, height);
    // The two bits above would have a decoder enlarge it.
    return data.readUIntLE(3, 3) === VP8_START && (data.readUInt8(0) & 1) === 0 && width < 0x4000 && height < 0x4000;
  }
  return true;
}
