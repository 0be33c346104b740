/** Frames of compressed audio without a container: MPEG audio and AAC. */

export interface Frame {
  readonly bytes: number;
  readonly seconds: number;
}

/** Reads the frame at `at`; undefined without a frame header. */
export type FrameReader = (bytes: Buffer, at: number) => Frame | undefined;

/** Counts consecutive frames from `start`, up to `most`. */
export function framesInARow(bytes: Buffer, start: number, read: FrameReader, most: number): number {
  let at = start;
  for (let count = 0; count < most; count++) {
    const frame = read(bytes, at);
    if (frame === undefined) return count;
    at += frame.bytes;
  }
  return most;
}

/**
 * Bit rates in kbit/s by index, from 1: for MPEG 1 in layers I, II and III, and for MPEG 2 and 2.5 in layer I and in the
 * others.
 */
const MPEG1_RATES = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
] as const;
const MPEG2_RATES = [
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;
const MPEG_SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
const VERSION = { mpeg25: 0, reserved: 1, mpeg2: 2, mpeg1: 3 } as const;
const [LAYER_RESERVED, EMPHASIS_RESERVED] = [0, 2];

/** A frame of MPEG audio with a bit rate. The length of free-format frames is unknown. */
export interface MpegFrame extends Frame {
  readonly header: number;
  readonly isMpeg1: boolean;
  readonly layer: 1 | 2 | 3;
}

export function mpegFrame(bytes: Buffer, at: number): MpegFrame | undefined {
  if (at + 4 > bytes.length || bytes[at] !== 0xff) return undefined;
  const header = bytes.readUInt32BE(at);
  const [version, layerCode] = [(header >>> 19) & 3, (header >>> 17) & 3];
  const [rateIndex, sampleIndex, padding] = [(header >>> 12) & 15, (header >>> 10) & 3, (header >>> 9) & 1];
  const isHeader = header >>> 21 === 0x7ff && version !== VERSION.reserved && layerCode !== LAYER_RESERVED;
  if (!isHeader || rateIndex === 0 || rateIndex === 15 || sampleIndex === 3) return undefined;
  if ((header & 3) === EMPHASIS_RESERVED) return undefined;
  const layer = (4 - layerCode) as 1 | 2 | 3;
  const isMpeg1 = version === VERSION.mpeg1;
  const rates = isMpeg1 ? MPEG1_RATES[layer - 1] : MPEG2_RATES[layer === 1 ? 0 : 1];
  const bitRate = ((rates as readonly number[])[rateIndex - 1] as number) * 1_000;
  const divisor = isMpeg1 ? 1 : version === VERSION.mpeg2 ? 2 : 4;
  const sampleRate = (MPEG_SAMPLE_RATES[sampleIndex] as number) / divisor;
  const samples = layer === 1 ? 384 : layer === 2 || isMpeg1 ? 1_152 : 576;
  const slotBytes = layer === 1 ? 4 : 1;
  const length = (Math.floor((samples * bitRate) / sampleRate / 8 / slotBytes) + padding) * slotBytes;
  return { bytes: length, seconds: samples / sampleRate, header, isMpeg1, layer };
}

/** Sample rates of AAC, by the code in its headers. */
export const AAC_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
] as const;
/** Samples in a frame of AAC. */
export const AAC_SAMPLES = 1_024;
const ADTS_HEADER_BYTES = 7;

/** Reads a frame of AAC with an ADTS header. */
export function adtsFrame(bytes: Buffer, at: number): Frame | undefined {
  if (at + ADTS_HEADER_BYTES > bytes.length || (bytes.readUInt16BE(at) & 0xfff6) !== 0xfff0) return undefined;
  const sampleRate = AAC_RATES[(bytes.readUInt8(at + 2) >>> 2) & 15];
  const length = (bytes.readUIntBE(at + 3, 3) >>> 5) & 0x1fff;
  const blocks = (bytes.readUInt8(at + 6) & 3) + 1;
  if (sampleRate === undefined || length < ADTS_HEADER_BYTES) return undefined;
  return { bytes: length, seconds: (blocks * AAC_SAMPLES) / sampleRate };
}

/** Returns the length of AAC with headers; undefined unless it consists of whole frames. */
export function adtsSeconds(bytes: Buffer): number | undefined {
  let [at, seconds] = [0, 0];
  while (at < bytes.length) {
    const frame = adtsFrame(bytes, at);
    if (frame === undefined) return undefined;
    at += frame.bytes;
    seconds += frame.seconds;
  }
  return at === bytes.length ? seconds : undefined;
}
