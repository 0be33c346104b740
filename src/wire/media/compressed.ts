/**
 * Detects compressed audio declared as uncompressed samples. ffmpeg, the decoder of many hosts, searches the samples of a
 * WAV for compressed audio and decodes it, which can last 4,000 times as long as the header states.
 */
import { adtsFrame, type FrameReader, framesInARow, mpegFrame } from './frames.ts';

/** ffmpeg searches 32 packets of 4,096 bytes. */
const SEARCHED_BYTES = 160 * 1_024;
/** The number of consecutive frames by which ffmpeg recognizes a format: at the first byte, and elsewhere. */
const [FRAMES_AT_START, FRAMES_ANYWHERE] = [3, 7];

/** Whether ffmpeg would decode these WAV samples as compressed audio. */
export function isCompressed(samples: Buffer): boolean {
  const searched = samples.subarray(0, SEARCHED_BYTES);
  const words = searched.toString('latin1').match(SYNC_WORDS) ?? [];
  return words.length >= 2 || holdsFrames(searched, [...READERS, mpegFrame]);
}

/** DTS in five forms, MLP and TrueHD, S/PDIF in two. A file may contain one of them by chance, but not two. */
const SYNC_WORDS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the words contain them.
  /\x7f\xfe\x80\x01|\xfe\x7f\x01\x80|\x1f\xff\xe8\0\x07[\xf0-\xff]|\xff\x1f\0\xe8[\xf0-\xff]\x07|dX %|\xf8\x72\x6f[\xba\xbb]|\xf8\x72\x4e\x1f|\x72\xf8\x1f\x4e/g;

/** Whether the bytes contain consecutive frames of AAC or AC-3, or of the given readers. */
export function holdsFrames(bytes: Buffer, readers: readonly FrameReader[] = READERS): boolean {
  for (let at = 0; at < bytes.length; at++) {
    if (!FIRST_BYTES.has(bytes[at] as number)) continue;
    const most = at === 0 ? FRAMES_AT_START : FRAMES_ANYWHERE;
    if (readers.some((read) => framesInARow(bytes, at, read, most) === most)) return true;
  }
  return false;
}

/** AAC with the header of a transport stream (LOAS). */
const loasFrame: FrameReader = (bytes, at) => {
  if (at + 3 > bytes.length || bytes.readUInt16BE(at) >>> 5 !== 0x2b7) return undefined;
  return { bytes: (bytes.readUInt16BE(at + 1) & 0x1fff) + 3, seconds: 0 };
};

const AC3_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640] as const;

/** AC-3 and E-AC-3, in either byte order. */
const ac3Frame: FrameReader = (bytes, at) => {
  if (at + 6 > bytes.length) return undefined;
  const swap = bytes[at] === 0x77 ? 1 : 0;
  const byte = (index: number) => bytes[at + (index ^ swap)] as number;
  if (byte(0) !== 0x0b || byte(1) !== 0x77) return undefined;
  const [version, rateCode, sizeCode] = [byte(5) >>> 3, byte(4) >>> 6, byte(4) & 63];
  if (version > 10) return { bytes: (((byte(2) & 7) << 8) | byte(3)) * 2 + 2, seconds: 0 };
  const rate = AC3_RATES[sizeCode >>> 1];
  if (rate === undefined || rateCode === 3) return undefined;
  const words = rateCode === 0 ? rate * 2 : rateCode === 2 ? rate * 3 : Math.floor((rate * 960) / 441) + (sizeCode & 1);
  return { bytes: words * 2, seconds: 0 };
};

const READERS: readonly FrameReader[] = [adtsFrame, loasFrame, ac3Frame];
/** The first bytes of these frames and of MPEG audio. */
const FIRST_BYTES: ReadonlySet<number> = new Set([0xff, 0x56, 0x0b, 0x77]);

/** Bytes within which ffmpeg recognizes a WAV or MP3 and stops searching for other formats. */
export const SEARCHED_FOR_FORMATS = 16 * 1_024;
/** The start of a NUT file, which ffmpeg finds after any other bytes. */
const NUT = 'NM\x7aV\x1f_\x04\xad';

/** Whether the bytes contain a format that ffmpeg prefers to WAV and MP3: NUT, or the G.729 of some dictation machines. */
export function hasSignsOfOtherFormats(bytes: Buffer): boolean {
  const isDictation = bytes[256] === 0x84 && bytes.subarray(44, 256).every((byte) => byte === 0);
  return isDictation || bytes.subarray(0, SEARCHED_FOR_FORMATS).includes(NUT, 0, 'latin1');
}
