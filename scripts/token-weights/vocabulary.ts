/** The vocabulary of o200k_base as byte strings: exact counts, and which tokens may stand side by side. */
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';

/** How o200k_base cuts a text before it merges bytes. The source is encodingParams/constants.js of gpt-tokenizer. */
const CONTRACTION = `(?:'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE]))?`;
const UPPER = String.raw`\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}`;
const LOWER = String.raw`\p{Ll}\p{Lm}\p{Lo}\p{M}`;
const PIECES = new RegExp(
  [
    String.raw`[^\r\n\p{L}\p{N}]?[${UPPER}]*[${LOWER}]+${CONTRACTION}`,
    String.raw`[^\r\n\p{L}\p{N}]?[${UPPER}]+[${LOWER}]*${CONTRACTION}`,
    String.raw`\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
  ].join('|'),
  'gu',
);

export function piecesOf(text: string): string[] {
  return text.match(PIECES) ?? [];
}

/** A string of bytes, one character each. */
function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** gpt-tokenizer drops it as it looks tokens up, and so never finds one that begins with it. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

const PAIR_SLOTS = 1 << 20;

/** Tokens are known by their rank: a lower rank merges first. */
export class Vocabulary {
  /** The bytes of every token, by rank. Holes are empty strings. */
  readonly tokens: string[] = [];
  readonly #rankOf = new Map<string, number>();
  readonly #left: Int32Array;
  readonly #right: Int32Array;
  readonly #pairLeft = new Int32Array(PAIR_SLOTS).fill(-1);
  readonly #pairRight = new Int32Array(PAIR_SLOTS);
  readonly #pairRank = new Int32Array(PAIR_SLOTS);
  #longest = 0;

  constructor() {
    ranks.forEach((value, rank) => {
      const bytes = typeof value === 'string' ? bytesOf(value) : Buffer.from(value).toString('latin1');
      this.tokens[rank] = bytes;
      this.#rankOf.set(bytes, rank);
      this.#longest = Math.max(this.#longest, bytes.length);
    });
    this.#left = new Int32Array(this.tokens.length).fill(-1);
    this.#right = new Int32Array(this.tokens.length).fill(-1);
    for (let rank = 0; rank < this.tokens.length; rank++) if (this.tokens[rank] !== undefined) this.#findParts(rank);
  }

  /** The rank of a token given in bytes. */
  rank(bytes: string): number | undefined {
    return this.#rankOf.get(bytes);
  }

  /** Whether merging ever makes this token. The others are tokens only where they are a whole piece. */
  isMade(rank: number): boolean {
    return this.#left[rank] !== -1;
  }

  /** The last merge that makes a token: its parts stand side by side for all merges of lower rank. */
  #findParts(rank: number): void {
    const bytes = this.tokens[rank] as string;
    if (bytes.length === 1) {
      this.#left[rank] = rank;
      this.#right[rank] = rank;
      return;
    }
    for (let cut = 1; cut < bytes.length; cut++) {
      const left = this.#rankOf.get(bytes.slice(0, cut));
      const right = this.#rankOf.get(bytes.slice(cut));
      if (left === undefined || right === undefined) continue;
      // A part of a higher rank that merging makes early (single bytes have ranks of their own) is no obstacle.
      if (left > rank && cut > 1) continue;
      if (right > rank && bytes.length - cut > 1) continue;
      if (!this.isMade(left) || !this.isMade(right) || !this.mayFollow(left, right)) continue;
      this.#left[rank] = left;
      this.#right[rank] = right;
      this.#addPair(left, right, rank);
      return;
    }
  }

  /** Returns the two tokens that make a token of several bytes; undefined if gpt-tokenizer drops its byte order mark. */
  partsOf(rank: number): readonly [number, number] | undefined {
    const left = this.#left[rank] as number;
    const isMade = left !== -1 && left !== rank && !this.tokens[rank]?.startsWith(BYTE_ORDER_MARK);
    return isMade ? [left, this.#right[rank] as number] : undefined;
  }

  #slot(left: number, right: number): number {
    let slot = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> 12;
    while (this.#pairLeft[slot] !== -1 && (this.#pairLeft[slot] !== left || this.#pairRight[slot] !== right)) {
      slot = (slot + 1) & (PAIR_SLOTS - 1);
    }
    return slot;
  }

  #addPair(left: number, right: number, rank: number): void {
    const slot = this.#slot(left, right);
    this.#pairLeft[slot] = left;
    this.#pairRight[slot] = right;
    this.#pairRank[slot] = rank;
  }

  /** Whether merging leaves two tokens side by side as they are: no merge across the seam precedes those within. */
  mayFollow(left: number, right: number): boolean {
    let limit = 0x7fffffff;
    let a = left;
    let b = right;
    for (;;) {
      const slot = this.#slot(a, b);
      if (this.#pairLeft[slot] !== -1 && (this.#pairRank[slot] as number) < limit) return false;
      const aSplits = this.#left[a] !== a;
      const bSplits = this.#left[b] !== b;
      if (aSplits && (a > b || !bSplits)) {
        limit = a;
        a = this.#right[a] as number;
      } else if (bSplits) {
        limit = b + 1;
        b = this.#left[b] as number;
      } else return true;
    }
  }

  /** The tokens of one piece. */
  encode(piece: string): number[] {
    const bytes = bytesOf(piece);
    const whole = this.#rankOf.get(bytes);
    if (whole !== undefined) return [whole];
    const parts: number[] = [];
    for (let i = 0; i < bytes.length; i++) parts.push(this.#rankOf.get(bytes[i] as string) as number);
    for (;;) {
      let best = 0x7fffffff;
      let at = -1;
      for (let i = 0; i + 1 < parts.length; i++) {
        const slot = this.#slot(parts[i] as number, parts[i + 1] as number);
        const rank = this.#pairLeft[slot] === -1 ? 0x7fffffff : (this.#pairRank[slot] as number);
        if (rank < best) {
          best = rank;
          at = i;
        }
      }
      if (at < 0) return parts;
      parts.splice(at, 2, best);
    }
  }

  /** The tokens of a text. */
  count(text: string): number {
    let tokens = 0;
    for (const piece of piecesOf(text)) tokens += this.encode(piece).length;
    return tokens;
  }
}
