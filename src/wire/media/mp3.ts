/** How long an MP3 is: the sum over its frames, and what any other bytes of it could hold at worst. */

/**
 * In kbit/s by index, for MPEG 1, and for MPEG 2 and 2.5. Index 0 is free format, whose frames say nothing of their
 * length.
 */
const BIT_RATES = [
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;

/** What the bits of a header mean. */
const VERSION = { mpeg25: 0, reserved: 1, mpeg2: 2, mpeg1: 3 } as const;
const [LAYER_3, LAYER_RESERVED] = [1, 0];
const EMPHASIS_RESERVED = 2;
/** The bits that are the same in all frames of a stream: sync, version, layer and sample rate. */
const SAME_BITS = 0xff_fe_0c_00;
const HEADER_BYTES = 4;

/**
 * The fewest bytes that a second can take: 13 bytes of header and side information, in free format, for at most 1,152
 * samples at 8 kHz. The lowest rate that has a number, 8 kbit/s, is 1,000 bytes.
 */
const FEWEST_BYTES_PER_SECOND = 90;
/** Before they trust a stream, decoders look at this many frames, minimp3 at the most of them. */
const TRUSTED_FRAMES = 10;

const TAG_BYTES = 10;

/** An ID3 tag, or the header of a frame of any layer. */
export function beginsAsMp3(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 3) === 'ID3' || (bytes.length >= HEADER_BYTES && isHeader(bytes.readUInt32BE(0)));
}

/**
 * An upper bound in seconds; undefined where the frames do not begin right after the tag, since then it may be another
 * format. Frames count while each begins where the last one ends and is of the same kind: so far every decoder goes
 * the same way. From then on decoders differ in where they go on, and in what is left each byte counts at the lowest
 * rate. So does a file of layers I and II: decoders of layer III alone search its frames for others.
 */
export function mp3Seconds(bytes: Buffer): number | undefined {
  const start = endOfTag(bytes);
  if (start === undefined || start + HEADER_BYTES > bytes.length) return undefined;
  const first = bytes.readUInt32BE(start);
  if (!isHeader(first)) return undefined;
  let frames = 0;
  let shortest = bytes.length;
  let last = start;
  let at = start;
  for (let length = frameBytes(bytes, at, first); length > 0; length = frameBytes(bytes, at, first)) {
    shortest = Math.min(shortest, length);
    last = at;
    at += length;
    frames++;
  }
  // Unless it ends with the file, the last frame is followed by none: a decoder may take it for something else.
  const end = at === bytes.length ? at : last;
  const trusted = frames > TRUSTED_FRAMES ? end : start;
  const rest = (bytes.length - trusted) / FEWEST_BYTES_PER_SECOND;
  const secondsPerFrame = samplesOf(first) / sampleRateOf(first);
  const estimated = declaredFrames(bytes, start, first) ?? bytes.length / shortest;
  return Math.max(frames * secondsPerFrame + rest, estimated * secondsPerFrame);
}

/** Where the ID3 tag at the start ends. Undefined if decoders could differ in where that is. */
function endOfTag(bytes: Buffer): number | undefined {
  if (bytes.toString('latin1', 0, 3) !== 'ID3') return 0;
  if (bytes.length < TAG_BYTES || bytes.readUInt8(3) === 0xff || bytes.readUInt8(4) === 0xff) return undefined;
  const hasFooter = (bytes.readUInt8(5) & 0x10) !== 0;
  const size = bytes.subarray(6, TAG_BYTES);
  if (hasFooter || size.some((byte) => byte >= 0x80)) return undefined;
  return TAG_BYTES + size.reduce((sum, byte) => sum * 0x80 + byte, 0);
}

function isHeader(header: number): boolean {
  const isSynchronized = header >>> 21 === 0x7ff;
  const [bitRate, sampleRate] = [(header >>> 12) & 15, (header >>> 10) & 3];
  if (!isSynchronized || versionOf(header) === VERSION.reserved || layerOf(header) === LAYER_RESERVED) return false;
  return bitRate !== 0 && bitRate !== 15 && sampleRate !== 3 && (header & 3) !== EMPHASIS_RESERVED;
}

function versionOf(header: number): number {
  return (header >>> 19) & 3;
}

function layerOf(header: number): number {
  return (header >>> 17) & 3;
}

/** The length of the frame of layer III at `at`; 0 if there is none like the first. */
function frameBytes(bytes: Buffer, at: number, first: number): number {
  if (at + HEADER_BYTES > bytes.length) return 0;
  const header = bytes.readUInt32BE(at);
  if (!isHeader(header) || layerOf(header) !== LAYER_3 || ((header ^ first) & SAME_BITS) !== 0) return 0;
  const rates = BIT_RATES[versionOf(header) === VERSION.mpeg1 ? 0 : 1];
  const bitRate = (rates[((header >>> 12) & 15) - 1] as number) * 1_000;
  const padding = (header >>> 9) & 1;
  return Math.floor(((samplesOf(header) / 8) * bitRate) / sampleRateOf(header)) + padding;
}

/** Of a frame of layer III. */
function samplesOf(header: number): number {
  return versionOf(header) === VERSION.mpeg1 ? 1_152 : 576;
}

function sampleRateOf(header: number): number {
  const rate = SAMPLE_RATES[(header >>> 10) & 3] as number;
  const version = versionOf(header);
  if (version === VERSION.mpeg1) return rate;
  return version === VERSION.mpeg2 ? rate / 2 : rate / 4;
}

/** VBRI stands here in the first frame; the other tags stand behind the side information. */
const VBRI_OFFSET = 36;
const MONO = 3;
const HAS_FRAMES = 1;

/**
 * As encoders write it into the first frame. Some programs take the length of a file from there and, if it is not
 * there, from the length of one frame and of the file, with its tag.
 */
function declaredFrames(bytes: Buffer, start: number, first: number): number | undefined {
  const isMono = ((first >>> 6) & 3) === MONO;
  const sideBytes = versionOf(first) === VERSION.mpeg1 ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const at = start + HEADER_BYTES + sideBytes;
  const tag = bytes.toString('latin1', at, at + 4);
  const isXing = (tag === 'Xing' || tag === 'Info') && at + 12 <= bytes.length;
  if (isXing && (bytes.readUInt32BE(at + 4) & HAS_FRAMES) !== 0) return bytes.readUInt32BE(at + 8);
  const vbri = start + VBRI_OFFSET;
  const isVbri = bytes.toString('latin1', vbri, vbri + 4) === 'VBRI' && vbri + 18 <= bytes.length;
  return isVbri ? bytes.readUInt32BE(vbri + 14) : undefined;
}
