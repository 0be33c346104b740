/** How long an MP4 or M4A is: the most that the headers of the film and of its tracks say. */

const [BOX_BYTES, LONG_BOX_BYTES] = [8, 16];
/** Boxes that hold boxes. */
const HOLDERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** A frame of AAC. */
const SAMPLES_PER_FRAME = 1_024;
const ENTRY_BYTES = 8;

/** What is read of a film, track by track. */
interface Reading {
  seconds: number;
  /** Of the current track: units in a second, frames and their length in units. */
  timescale: number;
  frames: number;
  units: number;
  /** Samples in a second, by the description of the sound, which stands before the times; 0 if it does not say. */
  rate: number;
  /** A part of the film is in fragments, of which the headers say nothing. */
  isFragmented: boolean;
}

/** An upper bound in seconds; undefined if it is in fragments, or a header cannot be read. */
export function mp4Seconds(bytes: Buffer): number | undefined {
  const reading: Reading = { seconds: 0, timescale: 0, frames: 0, units: 0, rate: 0, isFragmented: false };
  const isWhole = readBoxes(bytes, 0, reading);
  return isWhole && !reading.isFragmented ? reading.seconds : undefined;
}

/** Deeper than boxes of sound are. */
const MAX_DEPTH = 8;

/** False if a box says more than there is. */
function readBoxes(bytes: Buffer, depth: number, reading: Reading): boolean {
  let at = 0;
  while (at + BOX_BYTES <= bytes.length) {
    const type = bytes.toString('latin1', at + 4, at + 8);
    const short = bytes.readUInt32BE(at);
    const isLong = short === 1 && at + LONG_BOX_BYTES <= bytes.length;
    const headerBytes = isLong ? LONG_BOX_BYTES : BOX_BYTES;
    const length = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    if (length < headerBytes) return false;
    const content = bytes.subarray(at + headerBytes, at + length);
    if (type === 'trak') Object.assign(reading, { timescale: 0, frames: 0, units: 0, rate: 0 });
    if (HOLDERS.has(type)) {
      if (depth >= MAX_DEPTH || !readBoxes(content, depth + 1, reading)) return false;
    } else if (!readBox(type, content, reading)) return false;
    at += length;
  }
  return true;
}

function readBox(type: string, content: Buffer, reading: Reading): boolean {
  switch (type) {
    case 'mvhd':
    case 'mdhd':
      return readHeader(type, content, reading);
    case 'stts':
      return readTimes(content, reading);
    case 'stsd':
      return readEntry(content, reading);
    case 'moof':
    case 'mvex':
      reading.isFragmented = true;
      return true;
    default:
      return true;
  }
}

function readHeader(type: string, content: Buffer, reading: Reading): boolean {
  const isLong = content.length > 0 && content.readUInt8(0) === 1;
  if (content.length < (isLong ? 32 : 20)) return false;
  const timescale = content.readUInt32BE(isLong ? 20 : 12);
  const units = isLong ? Number(content.readBigUInt64BE(24)) : content.readUInt32BE(16);
  if (timescale === 0) return false;
  if (type === 'mdhd') reading.timescale = timescale;
  const isUnknown = units === (isLong ? 2 ** 64 : 2 ** 32 - 1);
  if (!isUnknown) reading.seconds = Math.max(reading.seconds, units / timescale);
  return true;
}

/** How many frames there are, and how long they are. */
function readTimes(content: Buffer, reading: Reading): boolean {
  if (content.length < ENTRY_BYTES || reading.timescale === 0) return false;
  const entries = content.readUInt32BE(4);
  if (content.length < ENTRY_BYTES * (entries + 1)) return false;
  for (let at = ENTRY_BYTES; at < ENTRY_BYTES * (entries + 1); at += ENTRY_BYTES) {
    reading.frames += content.readUInt32BE(at);
    reading.units += content.readUInt32BE(at) * content.readUInt32BE(at + 4);
  }
  const { frames, rate, units, timescale } = reading;
  const ofFrames = rate === 0 ? 0 : (frames * SAMPLES_PER_FRAME) / rate;
  reading.seconds = Math.max(reading.seconds, units / timescale, ofFrames);
  return true;
}

function readEntry(content: Buffer, reading: Reading): boolean {
  const isSound = content.toString('latin1', 12, 16) === 'mp4a' && content.length >= 44;
  if (isSound) reading.rate = content.readUInt16BE(40);
  return true;
}
