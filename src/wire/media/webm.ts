/**
 * The length of a WebM with one track of Opus: the maximum of its duration, the time of its last block and the sum over its
 * packets.
 */
import { opusPacketSeconds } from './opus.ts';
import { MAX_PIECES } from './walk.ts';

/** Ids of elements. The content of a container element is read as if it followed the element. */
const ID = {
  segment: 0x18538067,
  info: 0x1549a966,
  timecodeScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  codec: 0x86,
  encodings: 0x6d80,
  cluster: 0x1f43b675,
  timecode: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;
const HOLDERS: ReadonlySet<number> = new Set([
  ...[ID.segment, ID.info, ID.tracks, ID.trackEntry, ID.cluster, ID.blockGroup],
]);
/** Ids of clusters and of the track list, and the prefix of such an id in a table of contents. */
const STARTS = ['1f43b675', '1654ae6b'].map((id) => Buffer.from(id, 'hex'));
const ENTRY = Buffer.from('53ab84', 'hex');

const NANOS_PER_SECOND = 1e9;
const DEFAULT_SCALE = 1_000_000;
const LACING = 0x06;

/** Returns an upper bound, or undefined for another codec, a second track, or packed or unreadable blocks. */
export function webmSeconds(bytes: Buffer): number | undefined {
  let [scale, duration, clusterTime, lastTime, packets] = [DEFAULT_SCALE, 0, 0, 0, 0];
  const count = { elements: 0, entries: 0, codecs: 0, starts: 0 };
  for (let at = 0; at < bytes.length; ) {
    if (++count.elements > MAX_PIECES) return undefined;
    const id = numberAt(bytes, at, true);
    const size = id && numberAt(bytes, id.end, false);
    if (id === undefined || size === undefined) return undefined;
    at = size.end;
    if (id.value === ID.cluster || id.value === ID.tracks) count.starts++;
    if (id.value === ID.trackEntry) count.entries++;
    if (HOLDERS.has(id.value)) continue;
    if (size.isUnknown) return undefined;
    const content = bytes.subarray(at, at + size.value);
    at += size.value;
    switch (id.value) {
      case ID.timecodeScale:
        scale = unsigned(content);
        break;
      case ID.duration:
        duration = content.length === 4 ? content.readFloatBE(0) : content.length === 8 ? content.readDoubleBE(0) : 0;
        break;
      case ID.codec:
        if (!/^A_OPUS\0*$/.test(content.toString('latin1'))) return undefined;
        count.codecs++;
        break;
      case ID.encodings:
        return undefined;
      case ID.timecode:
        clusterTime = unsigned(content);
        break;
      case ID.block:
      case ID.simpleBlock: {
        const track = numberAt(content, 0, false);
        if (track === undefined || track.end + 4 > content.length) return undefined;
        const [time, flags] = [content.readInt16BE(track.end), content.readUInt8(track.end + 2)];
        if ((flags & LACING) !== 0) return undefined;
        lastTime = Math.max(lastTime, clusterTime + time);
        const packet = content.subarray(track.end + 3);
        packets += opusPacketSeconds(packet.readUInt8(0), packet.length > 1 ? packet.readUInt8(1) : 0);
        break;
      }
    }
  }
  // After an unreadable element ffmpeg searches for the next one byte by byte, even within other elements.
  if (count.entries !== 1 || count.codecs !== 1 || startsIn(bytes, count.starts + 1) > count.starts) return undefined;
  const seconds = (units: number) => (units * scale) / NANOS_PER_SECOND;
  return Math.max(seconds(Number.isFinite(duration) ? duration : 0), seconds(lastTime) + LONGEST_PACKET, packets);
}

/** In seconds. */
const LONGEST_PACKET = 0.12;

/** Counts clusters and track lists by id, up to `most`, without entries of a table of contents. */
function startsIn(bytes: Buffer, most: number): number {
  let count = 0;
  for (const id of STARTS) {
    for (let at = bytes.indexOf(id); at >= 0 && count < most; at = bytes.indexOf(id, at + 1)) {
      if (!bytes.subarray(at - ENTRY.length, at).equals(ENTRY)) count++;
    }
  }
  return count;
}

function unsigned(content: Buffer): number {
  return content.length >= 1 && content.length <= 6 ? content.readUIntBE(0, content.length) : 0;
}

interface VariableNumber {
  readonly value: number;
  readonly end: number;
  /** Whether all of its bits are set. */
  readonly isUnknown: boolean;
}

/** Reads a number whose leading zeros encode its length. Ids keep the marker bit after the zeros. */
function numberAt(bytes: Buffer, at: number, keepsMarker: boolean): VariableNumber | undefined {
  const first = bytes[at];
  if (first === undefined || first === 0) return undefined;
  const length = Math.clz32(first) - 23;
  if (at + length > bytes.length) return undefined;
  const marker = 0x80 >>> (length - 1);
  let value = keepsMarker ? first : first & (marker - 1);
  let isUnknown = (first & (marker - 1)) === marker - 1;
  for (const byte of bytes.subarray(at + 1, at + length)) {
    value = value * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return { value, end: at + length, isUnknown };
}
