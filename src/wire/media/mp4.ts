/** How long an MP4 or M4A is: the most that the headers of the film and of its tracks say, and its frames of sound. */

const [BOX_BYTES, LONG_BOX_BYTES] = [8, 16];
/** Boxes that hold boxes. */
const HOLDERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
/** A frame of AAC. */
const SAMPLES_PER_FRAME = 1_024;
const ENTRY_BYTES = 8;

/** What is read of a track. Its boxes may come in any order. */
interface Track {
  /** Units in a second. */
  timescale: number;
  /** By their times, and by their sizes: players go by one or the other. */
  timed: number;
  sized: number;
  units: number;
  /** Samples in a second as its AAC is coded; undefined if there is another codec, or none. */
  rate: number | undefined;
  /** What its headers say it is: sound, unless all of them say otherwise. */
  readonly handlers: string[];
}

interface Reading {
  seconds: number;
  track: Track;
  boxes: number;
  /** A part of the film is in fragments, of which the headers say nothing. */
  isFragmented: boolean;
}

function newTrack(): Track {
  return { timescale: 0, timed: 0, sized: 0, units: 0, rate: undefined, handlers: [] };
}

/** An upper bound in seconds; undefined if it is in fragments, has sound that is not AAC, or a header cannot be read. */
export function mp4Seconds(bytes: Buffer): number | undefined {
  const reading: Reading = { seconds: 0, track: newTrack(), boxes: 0, isFragmented: false };
  const isWhole = readBoxes(bytes, 0, reading);
  return isWhole && !reading.isFragmented ? reading.seconds : undefined;
}

/** Deeper, and more of them, than boxes of sound are. */
const [MAX_DEPTH, MAX_BOXES] = [8, 100_000];

/** False if a box says more than there is. */
function readBoxes(bytes: Buffer, depth: number, reading: Reading): boolean {
  let at = 0;
  while (at + BOX_BYTES <= bytes.length) {
    if (++reading.boxes > MAX_BOXES) return false;
    const type = bytes.toString('latin1', at + 4, at + 8);
    const short = bytes.readUInt32BE(at);
    const isLong = short === 1 && at + LONG_BOX_BYTES <= bytes.length;
    const headerBytes = isLong ? LONG_BOX_BYTES : BOX_BYTES;
    const length = isLong ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? bytes.length - at : short;
    if (length < headerBytes) return false;
    const content = bytes.subarray(at + headerBytes, at + length);
    if (type === 'trak') reading.track = newTrack();
    if (HOLDERS.has(type)) {
      if (depth >= MAX_DEPTH || !readBoxes(content, depth + 1, reading)) return false;
    } else if (!readBox(type, content, reading)) return false;
    if (type === 'trak' && !addTrack(reading)) return false;
    at += length;
  }
  return true;
}

function readBox(type: string, content: Buffer, reading: Reading): boolean {
  const { track } = reading;
  switch (type) {
    case 'mvhd':
    case 'mdhd':
      return readHeader(type, content, reading);
    case 'hdlr':
      return readHandler(content, track);
    case 'stts':
      return readTimes(content, track);
    case 'stsz':
    case 'stz2':
      if (content.length < 12) return false;
      track.sized += content.readUInt32BE(8);
      return true;
    case 'stsd':
      track.rate = aacRate(content);
      return true;
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
  if (type === 'mdhd') reading.track.timescale = timescale;
  const isUnknown = units === (isLong ? 2 ** 64 : 2 ** 32 - 1);
  if (!isUnknown) reading.seconds = Math.max(reading.seconds, units / timescale);
  return true;
}

/** QuickTime has another one in a track, which says where the data is. */
const DATA_HANDLER = 'dhlr';

function readHandler(content: Buffer, track: Track): boolean {
  if (content.length < 12) return false;
  if (content.toString('latin1', 4, 8) !== DATA_HANDLER) track.handlers.push(content.toString('latin1', 8, 12));
  return true;
}

/** How many frames there are, and how long they are. */
function readTimes(content: Buffer, track: Track): boolean {
  if (content.length < ENTRY_BYTES) return false;
  const entries = content.readUInt32BE(4);
  if (content.length < ENTRY_BYTES * (entries + 1)) return false;
  for (let at = ENTRY_BYTES; at < ENTRY_BYTES * (entries + 1); at += ENTRY_BYTES) {
    track.timed += content.readUInt32BE(at);
    track.units += content.readUInt32BE(at) * content.readUInt32BE(at + 4);
  }
  return true;
}

/** Pictures, subtitles and the like. */
const SILENT: ReadonlySet<string> = new Set(['vide', 'text', 'sbtl', 'subt', 'clcp', 'tmcd', 'meta', 'hint']);

/** False if the track has sound of which nobody here knows how long its frames are. */
function addTrack(reading: Reading): boolean {
  const { timescale, timed, sized, units, rate, handlers } = reading.track;
  if (units > 0 && timescale === 0) return false;
  const ofTimes = units === 0 ? 0 : units / timescale;
  const isSilent = handlers.length > 0 && handlers.every((each) => SILENT.has(each));
  if (!isSilent && rate === undefined) return false;
  const ofFrames = isSilent ? 0 : (Math.max(timed, sized) * SAMPLES_PER_FRAME) / (rate as number);
  reading.seconds = Math.max(reading.seconds, ofTimes, ofFrames);
  return true;
}

/** Of AAC, by the code in its configuration. */
const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];
/** Kinds of AAC with frames of that length: Main, LC, SSR, LTP, and those that repeat bands. */
const KINDS: ReadonlySet<number> = new Set([1, 2, 3, 4, 5, 29]);
/** Descriptors: of the stream, of its decoder, and what that needs to know. */
const [STREAM, DECODER, CONFIGURATION] = [3, 4, 5];
/** What stands ahead of the next one in each of the first two. */
const [STREAM_BYTES, DECODER_BYTES] = [3, 13];

/** Samples in a second, where the one description of a track says AAC: by what its decoder is told, and no other field. */
function aacRate(content: Buffer): number | undefined {
  if (content.length < 16 || content.readUInt32BE(4) !== 1 || content.toString('latin1', 12, 16) !== 'mp4a') {
    return undefined;
  }
  const box = content.indexOf('esds');
  if (box < 0 || content.indexOf('esds', box + 4) >= 0) return undefined;
  let at = box + 8;
  for (const [tag, bytes] of [
    [STREAM, STREAM_BYTES],
    [DECODER, DECODER_BYTES],
    [CONFIGURATION, 2],
  ] as const) {
    if (content[at++] !== tag) return undefined;
    // Its length, of which all bytes but the last have the highest bit.
    while ((content[at++] ?? 0) >= 0x80);
    if (tag === DECODER && content[at] !== 0x40) return undefined;
    // Flags of a stream that has more ahead.
    if (tag === STREAM && (content[at + 2] ?? 0) >= 0x20) return undefined;
    if (at + bytes > content.length) return undefined;
    if (tag === CONFIGURATION) break;
    at += bytes;
  }
  const configuration = content.readUInt16BE(at);
  return KINDS.has(configuration >>> 11) ? RATES[(configuration >>> 7) & 15] : undefined;
}
