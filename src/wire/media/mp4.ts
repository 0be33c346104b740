/** The length of an MP4 or M4A with one audio track, by its table of AAC or ALAC samples. */
import { AAC_RATES, AAC_SAMPLES } from './frames.ts';

export interface SoundLength {
  /** An upper bound. */
  readonly seconds: number;
  /** False if an ordinary file is much shorter than the bound. */
  readonly isExact: boolean;
}

/** The boxes of one track by their names. */
type Boxes = Map<string, Buffer>;

interface Movie {
  readonly header: Boxes;
  readonly tracks: Boxes[];
  boxes: number;
}

const BOX_HEADER_BYTES = 8;
/** An audio file has less than a hundred. */
const MAX_BOXES = 10_000;
const ROOT: ReadonlySet<string> = new Set(['ftyp', 'mdat', 'moov', 'free', 'skip', 'wide']);
const HOLDERS: ReadonlySet<string> = new Set(['moov', 'trak', 'edts', 'mdia', 'minf', 'stbl']);
/** Boxes that determine the audio length. ffmpeg uses the last of several, even inside other boxes. */
const TABLES = ['trak', 'mvhd', 'elst', 'mdhd', 'stsd', 'stts', 'stsz'] as const;
/** Tables of another form, and a compressed movie. */
const OTHER_TABLES = ['stz2', 'cmov'] as const;

/** Returns the length; undefined unless the file has one audio track, of AAC or ALAC, and plays it once. */
export function mp4Length(bytes: Buffer): SoundLength | undefined {
  const movie: Movie = { header: new Map(), tracks: [], boxes: 0 };
  if (!readBoxes(bytes, movie.header, movie, ROOT)) return undefined;
  const moov = movie.header.get('moov') ?? Buffer.alloc(0);
  const found = (name: string) => [movie.header, ...movie.tracks].filter((boxes) => boxes.has(name)).length;
  const isPlain = TABLES.every((name) => occursAtMost(moov, name, found(name))) && occursAtMost(moov, 'esds', 1);
  if (!isPlain || OTHER_TABLES.some((name) => moov.includes(name))) return undefined;
  const sounds = movie.tracks.filter((track) => handlerOf(track) === 'soun');
  const [sound] = sounds;
  // ffmpeg also decodes the audio of tracks with any other handler.
  const others = movie.tracks.filter((track) => handlerOf(track) === 'vide');
  if (sound === undefined || sounds.length > 1 || others.length + 1 !== movie.tracks.length) return undefined;
  return lengthOf(sound, Math.max(durationOf(movie.header.get('mvhd')), durationOf(sound.get('mdhd'))));
}

function occursAtMost(bytes: Buffer, name: string, most: number): boolean {
  let at = -1;
  for (let count = 0; count <= most; count++) {
    at = bytes.indexOf(name, at + 1);
    if (at < 0) return true;
  }
  return false;
}

/** Returns false if a box is longer than its parent, occurs twice or is not allowed. */
function readBoxes(bytes: Buffer, into: Boxes, movie: Movie, allowed?: ReadonlySet<string>): boolean {
  let at = 0;
  while (at + BOX_HEADER_BYTES <= bytes.length) {
    if (++movie.boxes > MAX_BOXES) return false;
    const type = bytes.toString('latin1', at + 4, at + 8);
    const short = bytes.readUInt32BE(at);
    const isLong = short === 1 && at + 2 * BOX_HEADER_BYTES <= bytes.length;
    const headerBytes = isLong ? 2 * BOX_HEADER_BYTES : BOX_HEADER_BYTES;
    const length = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    if (length < headerBytes || allowed?.has(type) === false) return false;
    const content = bytes.subarray(at + headerBytes, at + length);
    at += length;
    const isOnly = HOLDERS.has(type) || TABLES.some((name) => name === type) || type === 'hdlr';
    const boxes: Boxes = type === 'trak' ? new Map() : into;
    // The kind of a track determines how its tables are read, so it must be first.
    if ((isOnly && boxes.has(type)) || (type === 'minf' && !into.has('hdlr'))) return false;
    if (type === 'trak') movie.tracks.push(boxes);
    boxes.set(type, content);
    if (HOLDERS.has(type) && !readBoxes(content, boxes, movie)) return false;
  }
  return at === bytes.length;
}

function handlerOf(track: Boxes): string {
  return track.get('hdlr')?.toString('latin1', 8, 12) ?? '';
}

/** Returns the seconds in the header of the movie or of a track; 0 if missing. */
function durationOf(header: Buffer | undefined): number {
  const isLong = header?.[0] === 1;
  if (header === undefined || header.length < (isLong ? 32 : 20)) return 0;
  const [timescale, units] = isLong
    ? [header.readUInt32BE(20), Number(header.readBigUInt64BE(24))]
    : [header.readUInt32BE(12), header.readUInt32BE(16)];
  const isUnknown = units >= (isLong ? 2 ** 63 : 2 ** 32 - 1);
  return timescale === 0 || isUnknown ? 0 : units / timescale;
}

function lengthOf(track: Boxes, stated: number): SoundLength | undefined {
  const [entry, times, sizes] = ['stsd', 'stts', 'stsz'].map((name) => track.get(name) ?? Buffer.alloc(0));
  if (entry === undefined || times === undefined || sizes === undefined || !isPlayedOnce(track.get('elst'))) {
    return undefined;
  }
  // If each sample lasts one unit of time, ffmpeg uses the table of chunks instead.
  const isTimed = times.length >= 16 && times.readUInt32BE(12) > 1;
  if (!isTimed || sizes.length < 12 || entry.length < 44 || entry.readUInt32BE(4) !== 1) return undefined;
  const [size, count] = [sizes.readUInt32BE(4), sizes.readUInt32BE(8)];
  if (size === 0 && sizes.length < 12 + 4 * count) return undefined;
  const ofAlac = alacSeconds(entry);
  if (ofAlac !== undefined) return { seconds: Math.max(stated, count * ofAlac), isExact: true };
  if (!isAac(entry)) return undefined;
  const bytes = size === 0 ? sumOf(sizes.subarray(12, 12 + 4 * count)) : size * count;
  return { seconds: Math.max(stated, (bytes / FEWEST_AAC_BYTES) * LONGEST_AAC_FRAME), isExact: false };
}

function isPlayedOnce(edits: Buffer | undefined): boolean {
  if (edits === undefined) return true;
  if (edits.length < 8 || edits.readUInt32BE(4) > 1) return false;
  const rateAt = edits[0] === 1 ? 24 : 16;
  return edits.readUInt32BE(4) === 0 || (edits.length >= rateAt + 4 && edits.readUInt32BE(rateAt) === 0x10000);
}

/**
 * ffmpeg decodes all frames in a sample, each at the rate of the last ADTS header before it. The shortest frame is one
 * channel without a band: 29 bits, and 3 that ffmpeg requires after an element. Only its Huffman codes determine the end of
 * a frame, so any four bytes may be a frame of the lowest rate.
 */
const FEWEST_AAC_BYTES = 4;
const LONGEST_AAC_FRAME = AAC_SAMPLES / Math.min(...AAC_RATES);

function sumOf(sizes: Buffer): number {
  let sum = 0;
  for (let at = 0; at < sizes.length; at += 4) sum += sizes.readUInt32BE(at);
  return sum;
}

/** The settings of ALAC follow the fields of an entry, in a box of the same name. */
const ALAC_SETTINGS = { nameAt: 48, at: 56, bytes: 24 } as const;

/** Returns the seconds of an ALAC frame. */
function alacSeconds(entry: Buffer): number | undefined {
  const { nameAt, at, bytes } = ALAC_SETTINGS;
  const isAlac = [12, nameAt].every((start) => entry.toString('latin1', start, start + 4) === 'alac');
  if (!isAlac || entry.length < at + bytes) return undefined;
  const rate = entry.readUInt32BE(at + 20);
  return rate > 0 ? entry.readUInt32BE(at) / rate : undefined;
}

/** Object types of AAC with frames of 1,024 samples: Main, LC, SSR, LTP, SBR, PS. */
const KINDS: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 29]);
/** Descriptors of the stream, its decoder and the configuration, each nested in the previous one. */
const DESCRIPTORS = [
  { tag: 3, bytes: 3 },
  { tag: 4, bytes: 13 },
  { tag: 5, bytes: 0 },
] as const;

/** Whether the decoder's configuration is of AAC, at a rate with a code. */
function isAac(entry: Buffer): boolean {
  let at = entry.indexOf('esds') + 8;
  if (entry.toString('latin1', 12, 16) !== 'mp4a' || at < 16) return false;
  for (const { tag, bytes } of DESCRIPTORS) {
    if (entry[at++] !== tag) return false;
    // Its length: all bytes except the last have the highest bit set.
    while ((entry[at++] ?? 0) >= 0x80);
    // Flags of a stream with further fields, and codecs other than AAC.
    if ((tag === 3 && (entry[at + 2] ?? 0) >= 0x20) || (tag === 4 && entry[at] !== 0x40)) return false;
    at += bytes;
  }
  if (at + 2 > entry.length) return false;
  const configuration = entry.readUInt16BE(at);
  return KINDS.has(configuration >>> 11) && ((configuration >>> 7) & 15) < AAC_RATES.length;
}
