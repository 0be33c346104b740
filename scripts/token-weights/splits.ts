/** Finds the characters that another after them splits: the end of the one and the start of the other are a token. */
import type { Vocabulary } from './vocabulary.ts';

/** Bytes that end a character, and what follows up to the start of another. */
const ACROSS = /^([\x80-\xbf]+)((?:[\xc2-\xf4][\x80-\xbf]*)+)$/;
const CONTINUED = 64;

function bytesOf(code: number): string {
  return Buffer.from(String.fromCharCode(code), 'utf8').toString('latin1');
}

/** Code points of the first plane that count more with another character after them than both count alone. */
export function splitCharacters(vocabulary: Vocabulary, first: number, last: number): Set<number> {
  const codes: number[] = [];
  for (let code = first; code <= last; code++) if (code < 0xd800 || code > 0xdfff) codes.push(code);
  const characters = codes.map((code) => ({ code, bytes: bytesOf(code) }));
  const countOf = (bytes: string): number => vocabulary.encode(Buffer.from(bytes, 'latin1').toString('utf8')).length;
  const found = new Set<number>();
  for (const token of vocabulary.tokens) {
    const [, end, start] = ACROSS.exec(token) ?? [];
    if (end === undefined || start === undefined) continue;
    const isWhole = !Buffer.from(start, 'latin1').toString('utf8').includes('\ufffd');
    const starting = characters.filter(({ bytes }) => bytes.startsWith(start)).slice(0, CONTINUED);
    const seconds = isWhole ? [start] : starting.map(({ bytes }) => bytes);
    for (const { code, bytes } of characters) {
      if (bytes.length === end.length || !bytes.endsWith(end)) continue;
      if (seconds.some((second) => countOf(bytes + second) > countOf(bytes) + countOf(second))) found.add(code);
    }
  }
  return found;
}
