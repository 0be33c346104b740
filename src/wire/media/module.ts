/**
 * Detects tracker modules. libopenmpt, a part of ffmpeg, finds them in files of other formats. ffmpeg prefers them to an
 * MP3, and to a FLAC, Ogg or WebM with an unusual header. A module of few KB can last for hours.
 */

/** The words by which libopenmpt recognizes modules, except words at the start of a file. */
const MODULE_WORDS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the words contain them.
  /^.{20}[\x20-\x7f]{8}[\x02\x1a]\x02|^.{44}(?:SCRM|PTMF)|^.{60}(?:SONG|IM10|SCRM)|^.{124}SONG|^.{1464}(?:MTN\0|IT10)|^.{1080}(?:M[.!&]K[.!]|\.M\.K|N\.T\.|PATT|NSMS|LARD|WARD|FEST|OKTA|OCTA|CD[68]1|(?:FLT|EXO|TDZ|FA0)\d|\d\dC[HN]|\dCHN|[M8]\0\0\0)/s;
/** A module of 15 samples has no such word. The volume of each sample is at most 64, and it plays 1 to 128 patterns. */
const OLD_MODULE = { samples: 15, firstVolumeAt: 45, sampleBytes: 30, patternsAt: 470 } as const;

export function isModule(bytes: Buffer): boolean {
  const { samples, firstVolumeAt, sampleBytes, patternsAt } = OLD_MODULE;
  const patterns = bytes[patternsAt] ?? 0;
  const volumes = Array.from({ length: samples }, (_, sample) => bytes[firstVolumeAt + sample * sampleBytes] ?? 255);
  const isOld = patterns >= 1 && patterns <= 128 && volumes.every((volume) => volume <= 64);
  return isOld || MODULE_WORDS.test(bytes.toString('latin1', 0, 1_468));
}
