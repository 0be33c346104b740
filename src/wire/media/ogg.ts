/** The length of an Ogg file with one stream of Opus or Vorbis: the sum over its packets, or the last position. */
import { opusPacketSeconds } from './opus.ts';
import { MAX_PIECES } from './walk.ts';

const PAGE = 'OggS';
const [PAGE_HEADER_BYTES, VERSION] = [27, 0];
const [CONTINUED, FULL_SEGMENT] = [1, 255];
const OPUS_RATE = 48_000;
const NO_POSITION = 0xffff_ffff_ffff_ffffn;

interface Stream {
  readonly serial: number;
  /** Positions per second. */
  readonly rate: number;
  /** The longest packet, in seconds; undefined for Opus, whose packets contain their length. */
  readonly packetSeconds: number | undefined;
}

/** Returns an upper bound, or undefined if the file has another concurrent or later stream. */
export function oggSeconds(bytes: Buffer): number | undefined {
  let stream: Stream | undefined;
  let [segments, seconds, lastPosition] = [0, 0, 0];
  for (let at = 0; at >= 0; at = bytes.indexOf(PAGE, at + PAGE.length)) {
    if (at + PAGE_HEADER_BYTES > bytes.length) break;
    if (bytes[at + PAGE.length] !== VERSION) continue;
    // Pages within pages count, too: readers search a broken page for the next one.
    segments += bytes.readUInt8(at + 26);
    if (segments > MAX_PIECES) return undefined;
    const serial = bytes.readUInt32LE(at + 14);
    const packets = packetsOf(bytes, at);
    // A second header changes the codec or its rate.
    const begun = packets.map((packet) => streamOf(packet, serial)).filter((each) => each !== undefined);
    if (begun.length !== (stream === undefined ? 1 : 0)) return undefined;
    stream ??= begun[0] as Stream;
    if (serial !== stream.serial) return undefined;
    const position = bytes.readBigUInt64LE(at + 6);
    if (position !== NO_POSITION) lastPosition = Math.max(lastPosition, Number(position));
    for (const packet of packets) {
      if (packet.length > 0) {
        seconds +=
          stream.packetSeconds ?? opusPacketSeconds(packet.readUInt8(0), packet.length > 1 ? packet.readUInt8(1) : 0);
      }
    }
  }
  return stream && Math.max(seconds, lastPosition / stream.rate);
}

/** Returns the packets that begin on the page at `start`. */
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
  // The last packet continues on the next page.
  if (!isWithin && from < at) packets.push(bytes.subarray(from, at));
  return packets;
}

/** Returns the stream of a header packet; undefined for any other packet. */
function streamOf(head: Buffer, serial: number): Stream | undefined {
  if (head.toString('latin1', 0, 8) === 'OpusHead') return { serial, rate: OPUS_RATE, packetSeconds: undefined };
  if (head.toString('latin1', 0, 7) !== '\x01vorbis' || head.length < 29) return undefined;
  const rate = head.readUInt32LE(12);
  const longBlock = 1 << (head.readUInt8(28) >>> 4);
  return rate === 0 ? undefined : { serial, rate, packetSeconds: longBlock / 2 / rate };
}
