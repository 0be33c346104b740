/**
 * Collects texts that may arrive in pieces: their length, and enough of their start to count their
 * tokens.
 */

/**
 * How many characters are kept, which bounds the memory of a stream. Most outputs are shorter
 * (2,000 tokens are about 8,000 characters); for a longer one, this is enough to extrapolate from.
 */
const MAX_KEPT_CHARACTERS = 128 * 1024;

export class TextSample {
  /** UTF-8 bytes of all texts and of everything unparsed. */
  bytes = 0;
  #unparsedBytes = 0;
  /** The kept texts, each as a list of its pieces. */
  readonly #kept: string[][] = [];
  readonly #growing = new Map<number, string[]>();
  #keptCharacters = 0;
  #keptBytes = 0;

  /** Adds a text or, with a number, the next piece of the text with that number. */
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

  /** Adds bytes that were not parsed as text. */
  addUnparsed(bytes: number): void {
    this.bytes += bytes;
    this.#unparsedBytes += bytes;
  }

  /** The kept texts. */
  get texts(): string[] {
    return this.#kept.map((pieces) => pieces.join(''));
  }

  /**
   * The tokens of everything, extrapolated from those of the kept texts and rounded up. Unparsed
   * bytes are estimated.
   */
  tokensOfWhole(tokensOfKept: number): number {
    const textBytes = this.bytes - this.#unparsedBytes;
    const keptAll = this.#keptBytes === textBytes;
    const textTokens = keptAll ? tokensOfKept : Math.ceil((tokensOfKept * textBytes) / this.#keptBytes);
    return textTokens + tokensOfBytes(this.#unparsedBytes);
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

/** UTF-8 bytes per token: the median over prose, code and JSON in several languages. */
const BYTES_PER_TOKEN = 3.8;

/** The estimated tokens of a text of this many UTF-8 bytes, rounded up. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
