/**
 * What the models of the truthful host write: pieces of text, of which any number has a known count
 * of tokens.
 */
import { Random } from '../support/random.ts';
import { type Alphabet, textOf } from './texts.ts';
import { tokensIn } from './tokens.ts';

/** In a text, or where only some hosts put it. */
export type Field = 'content' | 'reasoning_content' | 'tool call';

/** What a model wrote of a text. */
export interface Written {
  readonly text: string;
  /** Of the whole text. */
  readonly tokens: number;
}

/** Characters of a piece. Most have 5 to 40 tokens: a small part of a step. */
const PIECE_CHARACTERS = 24;
/** Pieces before the text repeats. */
const PIECES = 500;
const SEED = 12;

interface Piece {
  readonly text: string;
  readonly tokens: number;
}

const BLANKS: Piece = { text: ' '.repeat(1_000), tokens: tokensIn(' '.repeat(1_000)) };
const made = new Map<Alphabet, readonly Piece[]>();

function piecesOf(alphabet: Alphabet): readonly Piece[] {
  const known = made.get(alphabet);
  if (known !== undefined) return known;
  const random = new Random(SEED);
  const pieces = Array.from({ length: PIECES }, () => {
    const text = textOf(alphabet, PIECE_CHARACTERS, random);
    return { text, tokens: tokensIn(text) };
  });
  made.set(alphabet, pieces);
  return pieces;
}

/** The number of pieces that together have about `tokens` tokens; at least one. */
export function piecesFor(alphabet: Alphabet, tokens: number): number {
  const pieces = piecesOf(alphabet);
  const perPiece = pieces.reduce((sum, piece) => sum + piece.tokens, 0) / pieces.length;
  return Math.max(1, Math.floor(tokens / perPiece));
}

/** One choice of an answer as it is being written. It has at most `mostTokens`. */
export class Writing {
  readonly #pieces: readonly Piece[];
  readonly #mostTokens: number;
  readonly #texts: string[] = [];
  #blanks: number;
  #tokens = 0;
  #count = 0;

  /** `blanks`: how many come before everything else. */
  constructor(alphabet: Alphabet, mostTokens: number, blanks: number) {
    this.#pieces = piecesOf(alphabet);
    this.#mostTokens = mostTokens;
    this.#blanks = blanks;
  }

  /** The next piece; undefined once nothing more may be written. */
  next(): string | undefined {
    const left = this.#mostTokens - this.#tokens;
    if (this.#blanks > 0 && left >= BLANKS.tokens) {
      this.#blanks -= BLANKS.text.length;
      return this.#write(BLANKS.text, BLANKS.tokens);
    }
    const piece = this.#pieces[this.#count++ % this.#pieces.length] as Piece;
    const text = piece.tokens <= left ? piece.text : beginningOf(piece.text, left);
    if (text === '') return undefined;
    return this.#write(text, text === piece.text ? piece.tokens : left);
  }

  /** The next pieces as one text, which is empty once nothing more may be written. */
  several(count: number): string {
    return Array.from({ length: count }, () => this.next() ?? '').join('');
  }

  /** Tokens of all pieces so far, each counted by itself. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Writes all that may be written. */
  rest(): void {
    while (this.next() !== undefined);
  }

  #write(text: string, tokens: number): string {
    this.#tokens += tokens;
    this.#texts.push(text);
    return text;
  }

  get written(): Written {
    const text = this.#texts.join('');
    return { text, tokens: tokensIn(text) };
  }
}

/** As much of a text as has that many tokens at most. */
function beginningOf(text: string, tokens: number): string {
  const characters = [...text];
  while (characters.length > 0 && tokensIn(characters.join('')) > tokens) characters.pop();
  return tokens <= 0 ? '' : characters.join('');
}
