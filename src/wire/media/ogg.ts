/** How long an Ogg file is: the sum over the packets of each of its streams, or what its pages say. */
import { opusPacketSeconds } from './opus.ts';
import { MAX_PIECES, TOO_MANY_PIECES } from './walk.ts';

const PAGE = 'OggS';
const PAGE_HEADER_BYTES = 27;
const [CONTINUED, FULL_SEGMENT] = [1, 255];
const OPUS_RATE = 48_000;
const NO_POSITION = 0xffff_ffff_ffff_ffffn;

interface Stream {
  /** Positions in a second. */
  readonly rate: number;
  /** Undefined for Opus, whose packets say it themselves: of a packet at most, in seconds. */
  readonly packetSeconds: number | undefined;
  seconds: number;
  lastPosition: number;
}

/** An upper bound in seconds; undefined if one of its streams is neither Opus nor Vorbis. */
export function oggSeconds(bytes: Buffer): number | undefined {
  const streams = new Map<number, Stream>();
  let segments = 0;
  for (let at = bytes.indexOf(PAGE); at >= 0; at = bytes.indexOf(PAGE, at + PAGE.length)) {
    if (at + PAGE_HEADER_BYTES > bytes.length) break;
    // Each place that could be a page counts, also within another one.
    segments += bytes.readUInt8(at + 26);
    if (segments > MAX_PIECES) return TOO_MANY_PIECES;
    const serial = bytes.readUInt32LE(at + 14);
    const packets = packetsOf(bytes, at);
    const stream = streams.get(serial) ?? streamOf(packets[0] ?? Buffer.alloc(0));
    if (stream === undefined) return undefined;
    streams.set(serial, stream);
    const position = bytes.readBigUInt64LE(at + 6);
    if (position !== NO_POSITION) stream.lastPosition = Math.max(stream.lastPosition, Number(position));
    for (const packet of packets) {
      if (packet.length > 0) {
        stream.seconds +=
          stream.packetSeconds ?? opusPacketSeconds(packet.readUInt8(0), packet.length > 1 ? packet.readUInt8(1) : 0);
      }
    }
  }
  return [...streams.values()].reduce((sum, each) => sum + Math.max(each.seconds, each.lastPosition / each.rate), 0);
}

/** The packets that begin on the page at `start`. */
function packetsOf(bytes: Buffer, start: number): readonly Buffer[] {
  const segments = bytes.readUInt8(start + 26);
  const table = bytes.subarray(start + PAGE_HEADER_BYTES, start + PAGE_HEADER_BYTES + segments);
  const packets: Buffer[] = [];
  let at = start + PAGE_HEADER_BYTES + segments;
  let isWithin = (bytes.readUInt8(start + 5) & CONTINUED) !== 0;
  let from = at;
  for (const length of table) {
    at += length;
    if (length === FULL_SEGMENT) continue;
    if (!isWithin) packets.push(bytes.subarray(from, at));
    isWithin = false;
    from = at;
  }
  // The last one goes on.
  if (!isWithin && from < at) packets.push(bytes.subarray(from, at));
  return packets;
}

/** The stream that begins with this packet. */
function streamOf(head: Buffer): Stream | undefined {
  if (head.toString('latin1', 0, 8) === 'OpusHead') {
    return { rate: OPUS_RATE, packetSeconds: undefined, seconds: 0, lastPosition: 0 };
  }
  if (head.toString('latin1', 0, 7) !== '\x01vorbis' || head.length < 29) return undefined;
  const rate = head.readUInt32LE(12);
  const longBlock = 1 << (head.readUInt8(28) >>> 4);
  return rate === 0 ? undefined : { rate, packetSeconds: longBlock / 2 / rate, seconds: 0, lastPosition: 0 };
}
