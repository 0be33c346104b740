/** Collects texts that may arrive in pieces, estimates their tokens, and samples blocks of them for counting. */
import { tokenWeight, WEIGHT_PER_TOKEN } from './token-estimate.ts';

/**
 * Maximum characters kept, which bounds the memory of a stream. Most outputs are shorter (2,000 tokens are about 8,000
 * characters) and kept whole; longer ones are sampled in blocks.
 */
const MAX_KEPT_CHARACTERS = 96 * 1024;
/**
 * Long enough that a split token hardly counts (2% of prose), and short enough that a dense paragraph among blanks spans
 * several blocks.
 */
const BLOCK_CHARACTERS = 128;
/** Blanks and rules have long tokens, so their blocks are as long as the counted pieces. */
const LIGHT_BLOCK_CHARACTERS = 1_000;
/** Prose has more than 1 / 6 tokens per character. */
const LIGHT_TOKENS_PER_CHARACTER = 1 / 8;
/** Maximum texts that arrive in pieces concurrently. No request has more choices. */
const MAX_GROWING = 128;

/** A run of characters of one text. */
interface Block {
  readonly text: number;
  readonly content: string;
  readonly weight: number;
  /** The weight that this block represents: its own and the weight of dropped blocks. */
  readonly standsFor: number;
}

/** A block with room for more text. */
interface OpenBlock {
  readonly text: number;
  content: string;
  /** UTF-8 bytes of the added pieces. */
  bytes: number;
  /** Maximum characters. */
  limit: number;
}

/** Texts to count. The total is the sum of their tokens, each multiplied by its factor. */
export interface Sample {
  readonly texts: readonly string[];
  readonly factors: readonly number[];
}

/** UTF-8 bytes per token: the median over prose, code and JSON in several languages. */
const BYTES_PER_TOKEN = 3.8;

export class TextSample {
  /** Weight of the full blocks. */
  #weight = 0;
  /** UTF-8 bytes of the unfinished blocks. */
  #openBytes = 0;
  /** Estimated tokens of unparsed bytes and unreadable output. */
  #unseenTokens = 0;
  #texts = 0;
  /** Internal number of each growing text, by the caller's number. */
  readonly #numbers = new Map<number, number>();
  /** The unfinished block of each growing text. */
  readonly #open = new Map<number, OpenBlock>();
  #kept: Block[] = [];
  #keptCharacters = 0;
  /**
   * Minimum weight that a kept block represents. Lighter blocks are combined, and one of them is kept at random in
   * proportion to its weight, so no sender can predict it. Dense text is kept whole while lighter text can be thinned out.
   */
  #leastWeight = 0;
  /** Represents the light blocks since the last kept one. */
  #candidate: Block | undefined;

  /** Adds a text or, with a number, the next piece of this text. */
  add(text: string, number?: number): void {
    if (text === '') return;
    const id = this.#idOf(number);
    let block = this.#open.get(id) ?? newBlock(id);
    for (let at = 0; at < text.length; ) {
      if (block.content.length >= block.limit) {
        const weight = tokenWeight(block.content);
        if (!isExtended(block, weight)) {
          this.#close(block, weight);
          block = newBlock(id);
        }
      }
      const end = cutAt(text, at + block.limit - block.content.length);
      const piece = end - at === text.length ? text : text.slice(at, end);
      const bytes = Buffer.byteLength(piece);
      block.content += piece;
      block.bytes += bytes;
      this.#openBytes += bytes;
      at = end;
    }
    if (number === undefined || !this.#numbers.has(number)) this.#close(block, tokenWeight(block.content));
    else this.#open.set(id, block);
  }

  /** Adds unparsed bytes. */
  addUnparsed(bytes: number): void {
    this.#unseenTokens += bytes / BYTES_PER_TOKEN;
  }

  /** Adds tokens of unreadable output. */
  addUnseen(tokens: number): void {
    this.#unseenTokens += tokens;
  }

  /** The estimated total tokens, rounded up. */
  get tokens(): number {
    let weight = this.#weight;
    for (const { content } of this.#open.values()) weight += tokenWeight(content);
    return Math.ceil(weight / WEIGHT_PER_TOKEN + this.#unseenTokens);
  }

  /** An upper bound of the total that is cheaper to compute: every token of a text has at least one byte. */
  get tokensAtMost(): number {
    return this.#weight / WEIGHT_PER_TOKEN + this.#openBytes + this.#unseenTokens;
  }

  /** The tokens of unparsed and unreadable output, rounded up. */
  get unseenTokens(): number {
    return Math.ceil(this.#unseenTokens);
  }

  /** Returns the texts to count: whole texts while they are short, otherwise sampled blocks. */
  sample(): Sample {
    const unfinished = Array.from(this.#open.values(), ({ text, content }) => {
      return { text, content, weight: 1, standsFor: 1 };
    });
    const blocks = [...this.#kept, ...(this.#candidate === undefined ? [] : [this.#candidate]), ...unfinished];
    if (this.#leastWeight > 0) {
      return {
        texts: blocks.map(({ content }) => content),
        factors: blocks.map(({ standsFor, weight }) => standsFor / weight),
      };
    }
    const byText = Map.groupBy(blocks, ({ text }) => text);
    const texts = Array.from(byText.values(), (own) => own.map(({ content }) => content).join(''));
    return { texts, factors: texts.map(() => 1) };
  }

  /** Returns the total tokens from the sample's count. */
  tokensOfWhole(counted: number): number {
    return Math.ceil(counted) + this.unseenTokens;
  }

  #idOf(number: number | undefined): number {
    if (number === undefined) return ++this.#texts;
    const known = this.#numbers.get(number);
    if (known !== undefined) return known;
    const id = ++this.#texts;
    if (this.#numbers.size < MAX_GROWING) this.#numbers.set(number, id);
    return id;
  }

  #close({ text, content, bytes }: OpenBlock, weight: number): void {
    this.#open.delete(text);
    this.#weight += weight;
    this.#openBytes -= bytes;
    this.#keep({ text, content, weight, standsFor: weight });
    if (this.#keptCharacters > MAX_KEPT_CHARACTERS) this.#thin();
  }

  #keep(block: Block): void {
    const isHeavy = block.standsFor >= this.#leastWeight;
    if (isHeavy && this.#candidate !== undefined) this.#push(this.#candidate);
    const kept = isHeavy || this.#candidate === undefined ? block : oneOf(this.#candidate, block);
    this.#candidate = undefined;
    if (kept.standsFor >= this.#leastWeight) this.#push(kept);
    else this.#candidate = kept;
  }

  #push(block: Block): void {
    const content = block.content;
    this.#kept.push({ ...block, content: copied(content) });
    this.#keptCharacters += content.length;
  }

  /** Combines kept blocks until half of the space is free. */
  #thin(): void {
    const total = this.#kept.reduce((sum, { standsFor }) => sum + standsFor, 0);
    this.#leastWeight = Math.max(this.#leastWeight, total / this.#kept.length);
    while (this.#keptCharacters > MAX_KEPT_CHARACTERS / 2) {
      this.#leastWeight *= 2;
      const blocks = [...this.#kept, ...(this.#candidate === undefined ? [] : [this.#candidate])];
      this.#kept = [];
      this.#keptCharacters = 0;
      this.#candidate = undefined;
      for (const block of blocks) this.#keep(block);
    }
  }
}

/** Picks one of two blocks to represent both. */
function oneOf(first: Block, second: Block): Block {
  const standsFor = first.standsFor + second.standsFor;
  return { ...(Math.random() * standsFor < second.standsFor ? second : first), standsFor };
}

function newBlock(text: number): OpenBlock {
  return { text, content: '', bytes: 0, limit: BLOCK_CHARACTERS };
}

/** Extends a full block if it is light. */
function isExtended(block: OpenBlock, weight: number): boolean {
  if (block.limit >= LIGHT_BLOCK_CHARACTERS) return false;
  if (weight / WEIGHT_PER_TOKEN > LIGHT_TOKENS_PER_CHARACTER * block.content.length) return false;
  block.limit = Math.min(LIGHT_BLOCK_CHARACTERS, block.limit + BLOCK_CHARACTERS);
  return true;
}

/** Copies a string, since a substring would keep the whole parent in memory. */
function copied(content: string): string {
  const encoding = Buffer.byteLength(content) === content.length ? 'latin1' : 'utf16le';
  return Buffer.from(content, encoding).toString(encoding);
}

/** Returns where to split a text: at `limit`, or one unit later to keep a surrogate pair together. */
function cutAt(text: string, limit: number): number {
  if (limit >= text.length) return text.length;
  const isLowSurrogate = (text.charCodeAt(limit) & 0xfc00) === 0xdc00;
  return isLowSurrogate ? limit + 1 : limit;
}
