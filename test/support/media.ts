/** Media for tests: the smallest files that say of themselves what matters. */

/** The beginning of a PNG image of that size, in pixels. */
export function pngOf(width: number, height: number): Buffer {
  const header = Buffer.alloc(33);
  header.set(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'));
  header.writeUInt32BE(13, 8);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  header.set([8, 2, 0, 0, 0], 24);
  return header;
}

/** A WAV file of silence: 8 bits, one channel. */
export function wavOf(samplesPerSecond: number, seconds: number): Buffer {
  const bytes = Buffer.alloc(44 + samplesPerSecond * seconds, 0x80);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(samplesPerSecond, 24);
  bytes.writeUInt32LE(samplesPerSecond, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(bytes.length - 44, 40);
  return bytes;
}
