/** The length of an audio file. */
import { flacSeconds } from './flac.ts';
import { kindByStart } from './kind.ts';
import { isModule } from './module.ts';
import { mp3Seconds } from './mp3.ts';
import { mp4Length, type SoundLength } from './mp4.ts';
import { oggSeconds } from './ogg.ts';
import { wavSeconds } from './wav.ts';
import { webmSeconds } from './webm.ts';

/** Eleven days. No recording is longer. */
const MAX_SECONDS = 1_000_000;

/** Returns the length; undefined unless every part of the file is understood. */
export function soundLength(bytes: Buffer): SoundLength | undefined {
  const isMp4 = bytes.toString('latin1', 4, 8) === 'ftyp';
  const length = isMp4 ? mp4Length(bytes) : exactly(secondsOf(bytes));
  return length !== undefined && length.seconds > 0 && length.seconds <= MAX_SECONDS ? length : undefined;
}

function exactly(seconds: number | undefined): SoundLength | undefined {
  return seconds === undefined ? undefined : { seconds, isExact: true };
}

function secondsOf(bytes: Buffer): number | undefined {
  const kind = kindByStart(bytes);
  if (kind === 'wav') return wavSeconds(bytes);
  if (isModule(bytes)) return undefined;
  switch (kind) {
    case 'mp3':
      return mp3Seconds(bytes);
    case 'flac':
      return flacSeconds(bytes);
    case 'ogg':
      return oggSeconds(bytes);
    default:
      return bytes.toString('latin1', 0, 4) === '\x1a\x45\xdf\xa3' ? webmSeconds(bytes) : undefined;
  }
}
