/** Random mutations of bytes: flips, cuts, splices, repeats. */
import type { Random } from '../support/random.ts';

type Mutation = (bytes: Buffer, random: Random) => Buffer;

const MOST_MUTATIONS = 4;
const LONGEST_RANGE = 64;
/** What parsers look for, and what they do not expect. */
const TOKENS = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', ':', ',', ';', '"', '\\', '{', '}', '[', ']', '%', '\x7f'],
  ...['\xff', '\xc3', '\xed\xa0\x80', '\xef\xbb\xbf', '0\r\n\r\n', 'FFFFFFFFFFFFFFFF\r\n', '-1', '999999999999'],
  ...['HTTP/1.1 200 OK\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'data: [DONE]\n\n', 'data:', 'event: error\n', '\n\n'],
].map((token) => Buffer.from(token, 'latin1'));

function range(bytes: Buffer, random: Random): { start: number; end: number } {
  const start = random.between(0, bytes.length);
  return { start, end: Math.min(bytes.length, start + random.between(1, LONGEST_RANGE)) };
}

function replaced(bytes: Buffer, start: number, end: number, by: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, start), by, bytes.subarray(end)]);
}

const MUTATIONS: readonly Mutation[] = [
  function flip(bytes, random) {
    const copy = Buffer.from(bytes);
    const at = random.between(0, copy.length - 1);
    copy[at] = (copy[at] ?? 0) ^ (1 << random.between(0, 7));
    return copy;
  },
  function overwrite(bytes, random) {
    const copy = Buffer.from(bytes);
    copy[random.between(0, copy.length - 1)] = random.between(0, 255);
    return copy;
  },
  function remove(bytes, random) {
    const { start, end } = range(bytes, random);
    return replaced(bytes, start, end, Buffer.alloc(0));
  },
  function repeat(bytes, random) {
    const { start, end } = range(bytes, random);
    return replaced(bytes, end, end, bytes.subarray(start, end));
  },
  function insert(bytes, random) {
    const { start } = range(bytes, random);
    return replaced(bytes, start, start, random.pick(TOKENS));
  },
  function splice(bytes, random) {
    const from = range(bytes, random);
    const { start, end } = range(bytes, random);
    return replaced(bytes, start, end, bytes.subarray(from.start, from.end));
  },
  function truncate(bytes, random) {
    return bytes.subarray(0, random.between(1, bytes.length));
  },
];

/** Applies a few mutations to the bytes. */
export function mutateBytes(bytes: Buffer, random: Random): Buffer {
  let mutated = bytes;
  for (let left = random.between(1, MOST_MUTATIONS); left > 0 && mutated.length > 0; left--) {
    mutated = random.pick(MUTATIONS)(mutated, random);
  }
  return mutated;
}

/** Splits the bytes into a few pieces, mostly one. */
export function cutAnywhere(bytes: Buffer, random: Random): Buffer[] {
  const cuts = random.chance(0.7) ? 0 : random.between(1, 3);
  const ends = Array.from({ length: cuts }, () => random.between(0, bytes.length)).toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

/** Encodes a body in chunks of random sizes. */
export function inChunks(body: Buffer, random: Random): Buffer {
  const pieces = cutAnywhere(body, random).filter(({ length }) => length > 0);
  const chunks = pieces.flatMap((piece) => [
    Buffer.from(`${piece.length.toString(16)}\r\n`),
    piece,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]);
}
