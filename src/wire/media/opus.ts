/** The length of an Opus packet, by its first bytes (RFC 6716, section 3.1). */

/** Milliseconds per frame, by the mode of the coder. */
const SILK = [10, 20, 40, 60] as const;
const HYBRID = [10, 20] as const;
const CELT = [2.5, 5, 10, 20] as const;

/** Returns seconds, at most the 0.12 of the longest valid packet. */
export function opusPacketSeconds(first: number, second = 0): number {
  const config = first >>> 3;
  const frameMs = config < 12 ? SILK[config & 3] : config < 16 ? HYBRID[config & 1] : CELT[config & 3];
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 0x3f : 2;
  return Math.min(0.12, ((frameMs as number) * frames) / 1_000);
}
