/** Texts that may come in pieces: their length, and as much of their beginning as it takes to count their tokens. */

/**
 * What is kept, in characters. Most answers are shorter (2,000 tokens are some 8,000 characters); of a longer one this is
 * enough to go by. It bounds what a stream costs in memory.
 */
const MAX_KEPT_CHARACTERS = 128 * 1024;

export class TextSample {
  /** UTF-8 bytes of all texts, and of what nobody has read as a text. */
  bytes = 0;
  #unreadBytes = 0;
  /** Whole texts, and pieces of one that are still apart. */
  readonly #kept: string[][] = [];
  readonly #growing = new Map<number, string[]>();
  #keptCharacters = 0;
  #keptBytes = 0;

  /** Takes in a text, or with a number the next piece of the text of that number. */
  add(text: string, number?: number): void {
    if (text === '') return;
    const bytes = Buffer.byteLength(text);
    this.bytes += bytes;
    const room = MAX_KEPT_CHARACTERS - this.#keptCharacters;
    if (room <= 0) return;
    const kept = text.length <= room ? text : text.slice(0, room);
    this.#piecesOf(number).push(kept);
    this.#keptCharacters += kept.length;
    this.#keptBytes += kept === text ? bytes : Buffer.byteLength(kept);
  }

  /** Takes in bytes that nobody has read as a text. */
  addUnread(bytes: number): void {
    this.bytes += bytes;
    this.#unreadBytes += bytes;
  }

  /** What was kept. */
  get texts(): string[] {
    return this.#kept.map((pieces) => pieces.join(''));
  }

  /** Tokens of the whole, from those of what was kept, rounded up. What was not read is estimated by its bytes. */
  tokensOfWhole(tokensOfKept: number): number {
    const readBytes = this.bytes - this.#unreadBytes;
    const isWhole = this.#keptBytes === readBytes;
    const tokensRead = isWhole ? tokensOfKept : Math.ceil((tokensOfKept * readBytes) / this.#keptBytes);
    return tokensRead + tokensOfBytes(this.#unreadBytes);
  }

  #piecesOf(number: number | undefined): string[] {
    const known = number === undefined ? undefined : this.#growing.get(number);
    if (known !== undefined) return known;
    const pieces: string[] = [];
    this.#kept.push(pieces);
    if (number !== undefined) this.#growing.set(number, pieces);
    return pieces;
  }
}

/** UTF-8 bytes of a token, the median over prose, code and JSON of several languages. */
const BYTES_PER_TOKEN = 3.8;

/** Tokens of a text of that many UTF-8 bytes, rounded up. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
