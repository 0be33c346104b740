/** Searches for texts that are estimated far below their tokens. */
import ranks from 'gpt-tokenizer/bpeRanks/o200k_base';
import { estimateTokens } from '../../../src/wire/token-estimate.ts';
import { campaign } from '../../support/campaign.ts';
import type { Random } from '../../support/random.ts';
import { ALPHABETS, LANGUAGES, languageText, SEAMS, tokensOf } from './token-texts.ts';

const LEAST = 0.9;
const SHOWN = 10;
/** So long a text is repeated to, that no rounding counts. */
const MEASURED_CHARACTERS = 60;
const MOST_CHARACTERS = 40;
/** Changes in a row that make nothing worse, after which the search starts anew. */
const PATIENCE = 80;

const tokens = ranks.filter((token): token is string => typeof token === 'string');
const letters = tokens.filter((token) => /^ ?[A-Za-z]{1,3}$/.test(token));
const words = LANGUAGES.flatMap((language) => languageText(language).split(/(?=\s)/));

/** Climbs from texts at random to those that no change makes worse. */
class Search {
  candidates = 0;
  readonly #random: Random;
  /** Whether this climb keeps to ASCII: such text is weighed by other tables, which one other character would replace. */
  #isAscii = false;

  constructor(random: Random) {
    this.#random = random;
  }

  climb(isOver: () => boolean): { text: string; ratio: number } {
    this.#isAscii = this.#random.chance(0.5);
    let text = this.#fragment();
    let ratio = this.#ratioOfRepeated(text);
    for (let failed = 0; failed < PATIENCE && !isOver(); failed++) {
      const next = this.#changed(text);
      if (next.length === 0 || next.length > MOST_CHARACTERS) continue;
      const found = this.#ratioOfRepeated(next);
      if (found < ratio) failed = 0;
      if (found <= ratio) [text, ratio] = [next, found];
    }
    return { text, ratio };
  }

  #ratioOfRepeated(text: string): number {
    this.candidates++;
    const repeated = text.repeat(Math.ceil(MEASURED_CHARACTERS / text.length));
    return estimateTokens(repeated) / tokensOf(repeated);
  }

  #below(limit: number): number {
    return this.#random.between(0, limit - 1);
  }

  #character(): string {
    const [first, last] = this.#random.pick(ALPHABETS);
    return String.fromCodePoint(this.#random.between(first, last));
  }

  #fragment(): string {
    for (;;) {
      const fragment = this.#anyFragment();
      if (!this.#isAscii || /^[\0-\x7f]*$/.test(fragment)) return fragment;
    }
  }

  /** Tokens, parts of words, words of many languages, characters of all alphabets, and text at the seams of pieces. */
  #anyFragment(): string {
    switch (this.#below(9)) {
      case 0:
      case 1:
        return this.#random.pick(tokens);
      case 2:
      case 3:
        return this.#random.pick(letters);
      case 4:
      case 5:
        return this.#character();
      case 6:
        return this.#random.pick(SEAMS);
      case 7:
        return this.#random.pick(words);
      default:
        return this.#character().repeat(this.#random.between(1, 12));
    }
  }

  #changed(text: string): string {
    const at = this.#below(text.length + 1);
    const [before, after] = [text.slice(0, at), text.slice(at)];
    switch (this.#below(6)) {
      case 0:
      case 1:
        return before + this.#fragment() + after;
      case 2:
        return before + text.slice(at + this.#random.between(1, 3));
      case 3:
        return before + this.#fragment() + text.slice(at + 1);
      case 4:
        return before + (this.#random.chance(0.5) ? after.toUpperCase() : after.toLowerCase());
      default:
        return after + before;
    }
  }
}

export default campaign({
  proves: 'no text is estimated below 0.9 of its tokens',
  amounts: { texts: 1_000_000 },
  minutes: 2,
  async run(course, { texts }) {
    const search = new Search(course.random);
    const isOver = () => search.candidates >= texts || course.isOver();
    const worst: { text: string; ratio: number }[] = [];
    while (!isOver()) {
      worst.push(search.climb(isOver));
      worst.sort((a, b) => a.ratio - b.ratio);
      worst.length = Math.min(worst.length, SHOWN);
    }
    for (const { text, ratio } of worst) {
      console.log(`${ratio.toFixed(3)} ${JSON.stringify(text)}`);
      if (ratio < LEAST) course.deviate(`estimated at ${ratio.toFixed(3)} of its tokens: ${JSON.stringify(text)}`);
    }
    return `${search.candidates} texts, the worst estimated at ${worst[0]?.ratio.toFixed(3)} of its tokens`;
  },
});
