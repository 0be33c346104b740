/** How long a file of sound can be at most, whatever it is. */
import { flacSeconds } from './flac.ts';
import { kindByStart } from './kind.ts';
import { mp3Seconds } from './mp3.ts';
import { mp4Seconds } from './mp4.ts';
import { oggSeconds } from './ogg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

/** The slowest speech codecs take 700 bit/s; MP3 in free format as little as this, in bytes. */
const FEWEST_BYTES_PER_SECOND = 87;
/** Eleven days. What a header says beyond that is no length. */
const MAX_SECONDS = 1_000_000;

/**
 * An upper bound in seconds, for any bytes: by the frames and headers of WAV, MP3, FLAC, Ogg (Opus, Vorbis), MP4 and WebM
 * (Opus), and by the size of anything else.
 */
export function soundSecondsAtMost(bytes: Buffer): number {
  const start = bytes.toString('latin1', 0, 12);
  const seconds = start.startsWith('fLaC')
    ? flacSeconds(bytes)
    : start.startsWith('OggS')
      ? oggSeconds(bytes)
      : start.startsWith('\x1a\x45\xdf\xa3')
        ? webmSeconds(bytes)
        : start.slice(4, 8) === 'ftyp'
          ? mp4Seconds(bytes)
          : audioSeconds(bytes);
  const bound = seconds !== undefined && seconds > 0 ? seconds : bytes.length / FEWEST_BYTES_PER_SECOND;
  return Math.min(MAX_SECONDS, bound);
}

/** An upper bound in seconds, or undefined if it cannot be told. */
export function audioSeconds(bytes: Buffer): number | undefined {
  const kind = kindByStart(bytes);
  if (kind === 'wav') return wavSeconds(bytes);
  return kind === 'mp3' ? mp3Seconds(bytes) : undefined;
}
