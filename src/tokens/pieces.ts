/** Cuts texts into pieces that a tokenizer processes in bounded time. Pure. */

/**
 * Maximum length of a piece. Tokenizers take quadratic time on text without breaks: 1,000 letters in a row take 1.3 ms here,
 * 64,000 take 1,070 ms, and 64,000 in pieces of 1,000 take 85 ms.
 */
const MAX_PIECE_CHARACTERS = 1_000;
/**
 * Distance searched for white space before the end of a piece. A cut before white space costs no token, a cut within a word costs
 * one.
 */
const SEARCHED_CHARACTERS = 200;

/** Yields the pieces of a text, in order. */
export function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > MAX_PIECE_CHARACTERS) {
    const end = cutBefore(text, start + MAX_PIECE_CHARACTERS);
    yield text.slice(start, end);
    start = end;
  }
  if (start < text.length) yield text.slice(start);
}

/** Returns the cut position at or shortly before `limit`: before white space if possible, never within a surrogate pair. */
function cutBefore(text: string, limit: number): number {
  for (let end = limit; end > limit - SEARCHED_CHARACTERS; end--) if (isSpace(text.charCodeAt(end))) return end;
  const isLowSurrogate = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isLowSurrogate ? limit - 1 : limit;
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d;
}
