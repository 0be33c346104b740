/** The length of an MP3: the sum over its frames, and an upper bound for its other bytes. */
import { hasSignsOfOtherFormats, holdsFrames, SEARCHED_FOR_FORMATS } from './compressed.ts';
import { type MpegFrame, mpegFrame } from './frames.ts';
import { isModule } from './module.ts';

/** Header bits shared by all frames of a stream: sync, version, layer and sample rate. */
const SAME_BITS = 0xff_fe_0c_00;
const HEADER_BYTES = 4;
const MONO = 3;

/**
 * Minimum bytes per second: 13 bytes of header and side information, in free format, for at most 1,152 samples at 8 kHz.
 * The lowest numbered rate, 8 kbit/s, is 1,000 bytes.
 */
const FEWEST_BYTES_PER_SECOND = 90;
/** Decoders check this many frames before they trust a stream; minimp3 checks the most. */
const TRUSTED_FRAMES = 10;

const TAG_BYTES = 10;

/** Whether a file begins with an ID3 tag or with a frame of any layer. */
export function beginsAsMp3(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 3) === 'ID3' || mpegFrame(bytes, 0) !== undefined;
}

/**
 * Returns an upper bound. Returns undefined if the file may be another format: frames do not follow the tag, are not of
 * layer III, or contain signs of another format. Frames count while each starts at the end of the previous one and is of
 * the same kind: all decoders read these alike. After them decoders differ in where they continue, so each byte counts at
 * the lowest rate.
 */
export function mp3Seconds(bytes: Buffer): number | undefined {
  const start = endOfTag(bytes);
  const first = start === undefined ? undefined : mpegFrame(bytes, start);
  if (start === undefined || first === undefined || first.layer !== 3 || isDisguised(bytes.subarray(start))) {
    return undefined;
  }
  let frames = 0;
  let shortest = bytes.length;
  let [last, at] = [start, start];
  const next = () => {
    const frame = mpegFrame(bytes, at);
    return frame !== undefined && ((frame.header ^ first.header) & SAME_BITS) === 0 ? frame : undefined;
  };
  for (let frame = next(); frame !== undefined; frame = next()) {
    shortest = Math.min(shortest, frame.bytes);
    last = at;
    at += frame.bytes;
    frames++;
  }
  // A decoder may search the last frame for others unless a frame or the end of the file follows.
  const end = at === bytes.length ? at : last;
  const trusted = frames > TRUSTED_FRAMES ? end : start;
  const rest = (bytes.length - trusted) / FEWEST_BYTES_PER_SECOND;
  const estimated = declaredFrames(bytes, start, first) ?? bytes.length / shortest;
  return Math.max(frames * first.seconds + rest, estimated * first.seconds);
}

/** Returns the end of the ID3 tag at the start. Undefined if decoders could disagree about it. */
function endOfTag(bytes: Buffer): number | undefined {
  if (bytes.toString('latin1', 0, 3) !== 'ID3') return 0;
  if (bytes.length < TAG_BYTES || bytes.readUInt8(3) === 0xff || bytes.readUInt8(4) === 0xff) return undefined;
  const hasFooter = (bytes.readUInt8(5) & 0x10) !== 0;
  const size = bytes.subarray(6, TAG_BYTES);
  if (hasFooter || size.some((byte) => byte >= 0x80)) return undefined;
  return TAG_BYTES + size.reduce((sum, byte) => sum * 0x80 + byte, 0);
}

/** A box of an MP4 in the second word, and two packs of an MPEG program stream. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the signs contain them.
const SIGNS = /^.{4}(?:moov|mdat|ftyp|udta|pnot|free|skip|wide|junk|pict|uuid)|\0\0\x01\xba.*\0\0\x01\xba/s;
/** Packet lengths of an MPEG transport stream, whose packets all start with the same byte. */
const PACKET_BYTES = [188, 192, 204] as const;
const [PACKET_START, FEWEST_PACKETS] = [0x47, 7];

/**
 * Whether the first frames, which can contain any bytes, have signs of another format: ffmpeg prefers each of these to an
 * MP3.
 */
function isDisguised(bytes: Buffer): boolean {
  const searched = bytes.subarray(0, SEARCHED_FOR_FORMATS);
  if (
    hasSignsOfOtherFormats(bytes) ||
    isModule(bytes) ||
    SIGNS.test(searched.toString('latin1')) ||
    holdsFrames(searched)
  )
    return true;
  return PACKET_BYTES.some((length) => {
    const places = [...searched.keys()].filter((at) => searched[at] === PACKET_START).map((at) => at % length);
    const counts = new Map<number, number>();
    for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
    return [...counts.values()].some((count) => count >= FEWEST_PACKETS);
  });
}

/** Offset of VBRI in the first frame; the other tags follow the side information. */
const VBRI_OFFSET = 36;
const HAS_FRAMES = 1;

/**
 * Returns the frame count that encoders write into the first frame. Some programs calculate the length of a file from it
 * or, without it, from the length of one frame and of the file, with its tag.
 */
function declaredFrames(bytes: Buffer, start: number, { header, isMpeg1 }: MpegFrame): number | undefined {
  const isMono = ((header >>> 6) & 3) === MONO;
  const sideBytes = isMpeg1 ? (isMono ? 17 : 32) : isMono ? 9 : 17;
  const at = start + HEADER_BYTES + sideBytes;
  const tag = bytes.toString('latin1', at, at + 4);
  const isXing = (tag === 'Xing' || tag === 'Info') && at + 12 <= bytes.length;
  if (isXing && (bytes.readUInt32BE(at + 4) & HAS_FRAMES) !== 0) return bytes.readUInt32BE(at + 8);
  const vbri = start + VBRI_OFFSET;
  const isVbri = bytes.toString('latin1', vbri, vbri + 4) === 'VBRI' && vbri + 18 <= bytes.length;
  return isVbri ? bytes.readUInt32BE(vbri + 14) : undefined;
}
