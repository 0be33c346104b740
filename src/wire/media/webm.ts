/** How long a WebM with Opus is: what its header says, its last block, or the sum over its packets. */
import { opusPacketSeconds } from './opus.ts';
import { MAX_PIECES, TOO_MANY_PIECES } from './walk.ts';

/** Elements by their ids. Of those that hold others, the content is read on as if it stood beside them. */
const ID = {
  header: 0x1a45dfa3,
  segment: 0x18538067,
  info: 0x1549a966,
  timecodeScale: 0x2ad7b1,
  duration: 0x4489,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  codec: 0x86,
  cluster: 0x1f43b675,
  timecode: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;
const HOLDERS: ReadonlySet<number> = new Set([
  ...[ID.segment, ID.info, ID.tracks, ID.trackEntry, ID.cluster, ID.blockGroup],
]);

const NANOS_PER_SECOND = 1e9;
const DEFAULT_SCALE = 1_000_000;
const LACING = 0x06;

/** An upper bound in seconds; undefined if it cannot be read, or has sound that is not Opus. */
export function webmSeconds(bytes: Buffer): number | undefined {
  let [scale, duration, clusterTime, lastTime, packets] = [DEFAULT_SCALE, 0, 0, 0, 0];
  let hasOpus = false;
  let elements = 0;
  for (let at = 0; at < bytes.length; ) {
    if (++elements > MAX_PIECES) return TOO_MANY_PIECES;
    const id = numberAt(bytes, at, true);
    const size = id && numberAt(bytes, id.end, false);
    if (id === undefined || size === undefined) return undefined;
    at = size.end;
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
        if (content.toString('latin1', 0, 2) === 'A_' && content.toString('latin1', 0, 6) !== 'A_OPUS')
          return undefined;
        hasOpus ||= content.toString('latin1', 0, 6) === 'A_OPUS';
        break;
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
        // Blocks of a picture count as sound: then the sum is too high, and never too low.
        packets += opusPacketSeconds(packet.readUInt8(0), packet.length > 1 ? packet.readUInt8(1) : 0);
        break;
      }
    }
  }
  const seconds = (units: number) => (units * scale) / NANOS_PER_SECOND;
  const longest = Math.max(seconds(Number.isFinite(duration) ? duration : 0), packets);
  return hasOpus && scale > 0 ? Math.max(longest, seconds(lastTime) + 0.12) : undefined;
}

function unsigned(content: Buffer): number {
  return content.length >= 1 && content.length <= 6 ? content.readUIntBE(0, content.length) : 0;
}

interface VariableNumber {
  readonly value: number;
  readonly end: number;
  /** All of its bits are set. */
  readonly isUnknown: boolean;
}

/** A number whose first byte says how long it is, by its leading zeros. Ids keep the bit that ends these. */
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
