/** The length of a FLAC: from its header, or the sum over all possible frames. */

/** Sample rates by the code in frame headers; 0 if the rate is in the stream header or after the frame header. */
const SAMPLE_RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const [MAGIC_BYTES, BLOCK_HEADER_BYTES, STREAMINFO_BYTES] = [4, 4, 34];
const [SYNC, SYNC_END, SYNC_END_MASK] = [0xff, 0xf8, 0xfe];
const MAX_HEADER_BYTES = 16;
/** Twelve hours of frames of the usual size. Each needs a checksum. */
const MAX_FRAMES = 500_000;

/** Returns an upper bound in seconds; undefined for another file structure. */
export function flacSeconds(bytes: Buffer): number | undefined {
  const info = MAGIC_BYTES + BLOCK_HEADER_BYTES;
  if (bytes.length < info + STREAMINFO_BYTES || (bytes.readUInt8(MAGIC_BYTES) & 0x7f) !== 0) return undefined;
  const sampleRate = bytes.readUIntBE(info + 10, 3) >>> 4;
  const samples = (bytes.readUInt8(info + 13) & 15) * 2 ** 32 + bytes.readUInt32BE(info + 14);
  if (sampleRate === 0) return undefined;
  let seconds = 0;
  let found = 0;
  // Byte by byte: indexOf is slower for consecutive sync bytes.
  for (let at = info + STREAMINFO_BYTES; at < bytes.length; at++) {
    if (bytes[at] !== SYNC || ((bytes[at + 1] ?? 0) & SYNC_END_MASK) !== SYNC_END) continue;
    if (++found > MAX_FRAMES) return undefined;
    seconds += frameSeconds(bytes.subarray(at, at + MAX_HEADER_BYTES), sampleRate);
  }
  return Math.max(samples / sampleRate, seconds);
}

/** Returns the seconds of the frame with this header; 0 if it is invalid. Other bytes look like a frame once in millions. */
function frameSeconds(header: Buffer, streamRate: number): number {
  if (header.length < 6) return 0;
  const [sizeCode, rateCode] = [header.readUInt8(2) >>> 4, header.readUInt8(2) & 15];
  if (sizeCode === 0 || rateCode === 15) return 0;
  let at = 4 + bytesOfNumber(header.readUInt8(4));
  const read = (length: number) => {
    const value = at + length < header.length ? header.readUIntBE(at, length) : 0;
    at += length;
    return value;
  };
  const own = sizeCode === 6 ? read(1) + 1 : sizeCode === 7 ? read(2) + 1 : undefined;
  const size = own ?? (sizeCode === 1 ? 192 : sizeCode < 6 ? 576 << (sizeCode - 2) : 256 << (sizeCode - 8));
  const ownRate = rateCode === 12 ? read(1) * 1_000 : rateCode === 13 ? read(2) : rateCode === 14 ? read(2) * 10 : 0;
  if (at >= header.length || checksum(header.subarray(0, at)) !== header.readUInt8(at)) return 0;
  return size / (SAMPLE_RATES[rateCode] || ownRate || streamRate);
}

/** Returns the length of the frame number, in a UTF-8-like encoding. */
function bytesOfNumber(first: number): number {
  return first < 0x80 ? 1 : Math.max(1, Math.clz32(~(first << 24)));
}

/** Checksums of single bytes. */
const CHECKSUMS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  return crc;
});

/** Returns the CRC-8 of frame headers. */
function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = CHECKSUMS[crc ^ byte] as number;
  return crc;
}
