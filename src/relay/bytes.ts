/** Bytes of a stream: adjacent buffers, and events that are cut within a line end. */

/**
 * Concatenates buffers, without a copy if they are adjacent in memory, as the events of one chunk
 * are.
 */
export function joined(buffers: readonly Buffer[]): Buffer {
  const [first, ...others] = buffers as [Buffer, ...Buffer[]];
  let end = first.byteOffset + first.length;
  for (const { buffer, byteOffset, length } of others) {
    if (buffer !== first.buffer || byteOffset !== end) return Buffer.concat(buffers);
    end += length;
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset);
}

const CRLF = '\r\n';

/** True for an event with CRLF line ends whose last LF has not arrived. */
export function isCutInCrlf(bytes: Buffer): boolean {
  return bytes.at(-1) === CRLF.charCodeAt(0) && bytes.includes(CRLF);
}
