/** Encodings of vectors in the embeddings dialect: numbers, or base64 as OpenAI's libraries request. */

const BYTES_PER_NUMBER = 4;

/** Floats of 32 bits, little-endian. */
export function base64Of(vector: Iterable<number>): string {
  const numbers = Float32Array.from(vector);
  const bytes = Buffer.alloc(numbers.length * BYTES_PER_NUMBER);
  for (const [at, number] of numbers.entries()) bytes.writeFloatLE(number, at * BYTES_PER_NUMBER);
  return bytes.toString('base64');
}

export function numbersIn(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64');
  const count = Math.floor(bytes.length / BYTES_PER_NUMBER);
  return Array.from({ length: count }, (_, at) => bytes.readFloatLE(at * BYTES_PER_NUMBER));
}
