/** How long a WAV file is, by every reading that its header allows. */

/** What a format may be called: PCM, floats, and the two that pack a sample into a byte. All others are compressed. */
const [PCM, FLOAT, A_LAW, MU_LAW, EXTENSIBLE] = [1, 3, 6, 7, 0xfffe];
const UNCOMPRESSED: ReadonlySet<number> = new Set([PCM, FLOAT, A_LAW, MU_LAW]);
/** An extensible format is named by a GUID: two bytes say which, and these follow. */
const GUID_END = Buffer.from('000000001000800000aa00389b71', 'hex');

/** A file has one format. Samples can spell its name by chance, hardly ever twice. */
const MAX_FORMATS = 8;
const FORMAT_BYTES = 24;

/**
 * An upper bound in seconds; undefined if a format is compressed or cannot be read. Whatever follows the header counts
 * as samples, since programs that write to a pipe leave the lengths wrong; and each place that could be the format
 * counts, since readers find their way there differently.
 */
export function wavSeconds(bytes: Buffer): number | undefined {
  let lowest = Number.POSITIVE_INFINITY;
  const first = bytes.indexOf('fmt ');
  let count = 0;
  for (let at = first; at >= 0; at = bytes.indexOf('fmt ', at + 1)) {
    const rate = ++count > MAX_FORMATS ? undefined : bytesPerSecond(bytes, at);
    if (rate === undefined) return undefined;
    lowest = Math.min(lowest, rate);
  }
  return count === 0 ? undefined : (bytes.length - first - FORMAT_BYTES) / lowest;
}

/** The fewest bytes that a second can have by the format at `at`. */
function bytesPerSecond(bytes: Buffer, at: number): number | undefined {
  if (at + FORMAT_BYTES > bytes.length) return undefined;
  const format = formatAt(bytes, at);
  if (!UNCOMPRESSED.has(format)) return undefined;
  const channels = bytes.readUInt16LE(at + 10);
  const sampleRate = bytes.readUInt32LE(at + 12);
  const byteRate = bytes.readUInt32LE(at + 16);
  const blockBytes = bytes.readUInt16LE(at + 20);
  // Whatever the bits of a sample are said to be, these formats have eight.
  const sampleBytes = format === A_LAW || format === MU_LAW ? 1 : Math.ceil(bytes.readUInt16LE(at + 22) / 8);
  const lowest = Math.min(byteRate, sampleRate * blockBytes, sampleRate * channels * sampleBytes);
  return lowest > 0 ? lowest : undefined;
}

/** The format, or the one that an extensible format names. */
function formatAt(bytes: Buffer, at: number): number {
  const format = bytes.readUInt16LE(at + 8);
  const guid = bytes.subarray(at + 32, at + 48);
  const isNamed = format === EXTENSIBLE && guid.length === 16 && guid.subarray(2).equals(GUID_END);
  return isNamed ? guid.readUInt16LE(0) : format;
}
