/** Reads the pixel size of an image from every header that a decoder may use. */
import { kindByStart, type MediaKind } from './kind.ts';

/** In pixels. */
export interface ImageSize {
  readonly width: number;
  readonly height: number;
  /** If decoders differ, the possible sizes. `width` and `height` are then the maximum of each. */
  readonly candidates?: readonly ImageSize[];
}

/** Maximum sizes per file. A GIF or WebP has one for each frame smaller than the canvas. */
const MAX_SIZES = 256;
/** Maximum headers per file, and blocks of a GIF: an animation of some minutes. */
const MAX_HEADERS = 10_000;
const MAX_BLOCKS = 100_000;

/** Returns the largest size to which a PNG, JPEG, GIF or WebP can decode. Undefined for other or malformed files. */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const kind = kindByStart(bytes);
  const read = kind && READERS[kind];
  return read?.(bytes)?.result();
}

/** The distinct sizes in a file. */
class Sizes {
  readonly #found = new Map<string, ImageSize>();
  #headers = 0;

  /** Adds a size. Decoders skip a size without pixels or refuse the file. */
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

/** Reads a PNG. Its header is first, but Pillow uses the last header before the pixels. */
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

/** Markers of a JPEG. Frame markers are C0 to CF, except for these three. */
const [DHT, JPEG_EXTENSION, DAC] = [0xc4, 0xc8, 0xcc];
const [RESTART, START_OF_IMAGE, END_OF_IMAGE] = [0xd0, 0xd8, 0xd9];
/** Markers other than frames whose segments every decoder skips by length. */
const SEGMENTS: ReadonlySet<number> = new Set([DHT, DAC, 0xda, 0xdb, 0xdd, 0xfe, ...range(0xe0, 0xef)]);
const FRAMES: ReadonlySet<number> = new Set(
  range(0xc0, 0xcf).filter((marker) => marker !== DHT && marker !== JPEG_EXTENSION && marker !== DAC),
);

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

/** Reads a JPEG. Undefined for markers that decoders treat differently, such as one that sets the height later. */
function jpegSizes(bytes: Buffer): Sizes | undefined {
  const sizes = new Sizes();
  let at = 2;
  while (at < bytes.length) {
    while (at < bytes.length && bytes[at] !== 0xff) at++;
    while (at < bytes.length && bytes[at] === 0xff) at++;
    const marker = bytes[at++] ?? END_OF_IMAGE;
    // Within pixel data 0 escapes the preceding byte, and restarts have no segment.
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
/** Flag of the screen and of frames: a color table follows. */
const HAS_COLORS = 0x80;

function colorBytes(flags: number): number {
  return (flags & HAS_COLORS) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/** Reads a GIF. Decoders use the screen, the screen extended to fit its frames (Pillow), or a single frame (ImageMagick). */
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
    // Other bytes are skipped, as in Pillow.
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

/** Returns the end of a sequence of length-prefixed blocks. */
function afterBlocks(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== 0) at += (bytes[at] as number) + 1;
  return at + 1;
}

/** An animation frame of a WebP: its position and size, followed by nested chunks. */
const ANIMATION_FRAME_BYTES = 16;

/** Reads the canvas of a WebP and its pictures, which should have the same size. Undefined if a picture is unreadable. */
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
/** The data of a key frame after three bytes. */
const VP8_START = 0x2a019d;
const VP8L_SIGNATURE = 0x2f;

/** Adds the size in a chunk. Returns false if decoders could read another size. */
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
    // If set, the two higher bits make a decoder enlarge it.
    return data.readUIntLE(3, 3) === VP8_START && (data.readUInt8(0) & 1) === 0 && width < 0x4000 && height < 0x4000;
  }
  return true;
}
