/** Converts bytes of generated audio to output tokens. */

/** OpenAI bills an output token for each 50 ms. */
export const SECONDS_PER_TOKEN = 0.05;

/**
 * Bytes per second. PCM and WAV have 24,000 samples of two bytes. For compressed formats these are the lowest bitrates of
 * speech, so that a token count is never too low: a quarter of PCM in FLAC, 32 kbit/s in MP3 and AAC, 12 kbit/s in Opus.
 */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = {
  pcm16: 48_000,
  wav: 48_000,
  flac: 12_000,
  mp3: 4_000,
  aac: 4_000,
  opus: 1_500,
};

/** The default format of hosts, and the only one in streams. */
const USUAL_FORMAT = 'pcm16';
/** An unknown format counts as the format with the strongest compression. */
const DENSEST_FORMAT = 'opus';

/** Returns the bytes of audio per output token. `format`: the request's name for it. */
export function audioBytesPerToken(format: unknown = USUAL_FORMAT): number {
  const known = typeof format === 'string' && Object.hasOwn(BYTES_PER_SECOND, format) ? format : DENSEST_FORMAT;
  return SECONDS_PER_TOKEN * (BYTES_PER_SECOND[known] as number);
}
