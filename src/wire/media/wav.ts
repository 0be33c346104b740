/** The length of a WAV file of uncompressed samples: the maximum that its header allows. */
import { hasSignsOfOtherFormats, isCompressed } from './compressed.ts';

/** Formats whose samples have a fixed size. All others are compressed. */
const [PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE] = [1, 3, 6, 7, 0xfffe];
const UNCOMPRESSED: ReadonlySet<number> = new Set([PCM, FLOAT, A_LAW, MU_LAW]);
/** An extensible format contains a GUID: the number of a format in two bytes, followed by these. */
const GUID_END = Buffer.from('000000001000800000aa00389b71', 'hex');

const [RIFF_HEADER_BYTES, CHUNK_HEADER_BYTES, FORMAT_BYTES, EXTENSIBLE_BYTES] = [12, 8, 16, 40];

/**
 * Returns an upper bound, or undefined if the samples may be compressed. All bytes after the start of the data count as
 * samples, since programs that write to a pipe leave wrong lengths.
 */
export function wavSeconds(bytes: Buffer): number | undefined {
  let bytesPerSecond: number | undefined;
  for (let at = RIFF_HEADER_BYTES; at + CHUNK_HEADER_BYTES <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    at += CHUNK_HEADER_BYTES;
    if (name === 'data') {
      const samples = bytes.subarray(at);
      const isPlain = bytesPerSecond !== undefined && !hasSignsOfOtherFormats(bytes) && !isCompressed(samples);
      return isPlain ? samples.length / (bytesPerSecond as number) : undefined;
    }
    // Readers choose differently among several formats, and ffmpeg prefers the format of this chunk.
    if (name === 'XMA2' || (name === 'fmt ' && bytesPerSecond !== undefined)) return undefined;
    if (name === 'fmt ') {
      bytesPerSecond = lowestRate(bytes.subarray(at, at + length));
      if (bytesPerSecond === undefined) return undefined;
    }
    // Chunks begin at even offsets.
    at += length + (length & 1);
  }
  return undefined;
}

/** Returns the minimum bytes per second of a format. */
function lowestRate(format: Buffer): number | undefined {
  if (format.length < FORMAT_BYTES) return undefined;
  const isExtensible = format.readUInt16LE(0) === EXTENSIBLE;
  if (isExtensible && (format.length < EXTENSIBLE_BYTES || !format.subarray(26, 40).equals(GUID_END))) return undefined;
  const tag = format.readUInt16LE(isExtensible ? 24 : 0);
  if (!UNCOMPRESSED.has(tag)) return undefined;
  const channels = format.readUInt16LE(2);
  const sampleRate = format.readUInt32LE(4);
  const byteRate = format.readUInt32LE(8);
  const blockBytes = format.readUInt16LE(12);
  const bits = format.readUInt16LE(14);
  // ffmpeg uses the valid bits as the sample size, and eight bits in the two formats with one byte per sample.
  const validBits = (isExtensible && format.readUInt16LE(18)) || bits;
  const sampleBytes = tag === A_LAW || tag === MU_LAW ? 1 : Math.ceil(Math.min(bits, validBits) / 8);
  const lowest = Math.min(byteRate, sampleRate * blockBytes, sampleRate * channels * sampleBytes);
  return lowest > 0 ? lowest : undefined;
}
