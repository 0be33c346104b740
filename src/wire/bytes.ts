/** Tokens of a text of which only the length is known. */

/** UTF-8 bytes of a token, the median over prose, code and JSON of several languages. */
const BYTES_PER_TOKEN = 3.8;

/** Tokens of a text of that many UTF-8 bytes, rounded up. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
