/** How long the sound of an attachment is at most. */
import { kindByStart } from './kind.ts';
import { mp3Seconds } from './mp3.ts';
import { wavSeconds } from './wav.ts';

/** An upper bound in seconds, or undefined if it cannot be told. */
export function audioSeconds(bytes: Buffer): number | undefined {
  const kind = kindByStart(bytes);
  if (kind === 'wav') return wavSeconds(bytes);
  return kind === 'mp3' ? mp3Seconds(bytes) : undefined;
}
