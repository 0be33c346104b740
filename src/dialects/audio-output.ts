/** How many tokens a model's audio is, by its bytes. */

/** OpenAI bills an output token for each 50 ms. */
export const SECONDS_PER_TOKEN = 0.05;

/**
 * Bytes a second. PCM has 24,000 samples of two bytes, and a WAV holds the same. Of formats that compress it is the
 * least that speech takes in them, so that a count is never too low: a quarter of that in FLAC, 32 kbit/s in MP3 and
 * AAC, 12 kbit/s in Opus.
 */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = {
  pcm16: 48_000,
  wav: 48_000,
  flac: 12_000,
  mp3: 4_000,
  aac: 4_000,
  opus: 1_500,
};

/** What a host sends that was not told: streams have no other. */
const USUAL_FORMAT = 'pcm16';
/** A format that is not known is taken for the one that packs most. */
const DENSEST_FORMAT = 'opus';

/** `format`: as the request names it. */
export function audioBytesPerToken(format: unknown = USUAL_FORMAT): number {
  const known = typeof format === 'string' && Object.hasOwn(BYTES_PER_SECOND, format) ? format : DENSEST_FORMAT;
  return SECONDS_PER_TOKEN * (BYTES_PER_SECOND[known] as number);
}
