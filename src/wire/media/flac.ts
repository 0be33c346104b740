/** How long a FLAC is: what its header says, or the sum over all that could be its frames. */

/** Of frames, by the code in their header; 0 where the header of the stream or what follows says it. */
const SAMPLE_RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];
const [MAGIC_BYTES, BLOCK_HEADER_BYTES, STREAMINFO_BYTES] = [4, 4, 34];
const [SYNC, SYNC_END, SYNC_END_MASK] = [0xff, 0xf8, 0xfe];
const MAX_HEADER_BYTES = 16;
/** Twelve hours of frames of the usual size. Each has a sum to check. */
const MAX_FRAMES = 500_000;

/** An upper bound in seconds; undefined if it begins otherwise. */
export function flacSeconds(bytes: Buffer): number | undefined {
  const info = MAGIC_BYTES + BLOCK_HEADER_BYTES;
  if (bytes.length < info + STREAMINFO_BYTES || (bytes.readUInt8(MAGIC_BYTES) & 0x7f) !== 0) return undefined;
  const sampleRate = bytes.readUIntBE(info + 10, 3) >>> 4;
  const samples = (bytes.readUInt8(info + 13) & 15) * 2 ** 32 + bytes.readUInt32BE(info + 14);
  if (sampleRate === 0) return undefined;
  let seconds = 0;
  let found = 0;
  // Byte by byte: to look for the next one takes longer where there is one after another.
  for (let at = info + STREAMINFO_BYTES; at < bytes.length; at++) {
    if (bytes[at] !== SYNC || ((bytes[at + 1] ?? 0) & SYNC_END_MASK) !== SYNC_END) continue;
    if (++found > MAX_FRAMES) return undefined;
    seconds += frameSeconds(bytes.subarray(at, at + MAX_HEADER_BYTES), sampleRate);
  }
  return Math.max(samples / sampleRate, seconds);
}

/** The length in seconds of the frame with this header; 0 if it is no frame. Other bytes look like one once in millions. */
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

/** Of the number of the frame, in the manner of UTF-8. */
function bytesOfNumber(first: number): number {
  return first < 0x80 ? 1 : Math.max(1, Math.clz32(~(first << 24)));
}

/** Of each byte alone. */
const CHECKSUMS = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  return crc;
});

/** The CRC-8 of frame headers. */
function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) crc = CHECKSUMS[crc ^ byte] as number;
  return crc;
}
