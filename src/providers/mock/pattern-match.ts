/**
 * A short text that a regular expression matches, made from its parts. The expression is never run: on a text of its
 * sender's choice it could run for years. Pure.
 */

/** How long a text gets at most. */
const MAX_CHARACTERS = 1_000;
/** How deep groups may be nested. */
const MAX_DEPTH = 50;

/** A match, of so many characters if its repetitions leave room for them; undefined for what is not read here. */
export function matchOf(pattern: string, least: number): string | undefined {
  let found: string | undefined;
  for (let more = 0; more <= MAX_CHARACTERS && (found?.length ?? -1) < least; more = Math.max(1, more * 2)) {
    const text = new Maker(pattern, more).whole();
    if (text === undefined || text.length > MAX_CHARACTERS) break;
    found = text;
  }
  return found;
}

/** What escapes stand for, by a character of theirs. */
const ESCAPES: Readonly<Record<string, string>> = {
  ...{ d: '0', D: 'x', w: 'x', W: '-', s: ' ', S: 'x', n: '\n', r: '\r', t: '\t', f: '\f', v: '\v', 0: '\0' },
};
/** The classes of characters that may be a part of another one. */
const CLASSES: Readonly<Record<string, readonly (readonly [from: string, to: string])[]>> = {
  d: [['0', '9']],
  w: [
    ['a', 'z'],
    ['A', 'Z'],
    ['0', '9'],
    ['_', '_'],
  ],
  s: [
    [' ', ' '],
    ['\t', '\r'],
  ],
};
/** What a class that excludes some characters is tried with. */
const USUAL = [...'xaA0_- .,:/é'];

/** Thrown, and caught in `whole`, at what is not read here: look-around, references back, properties of Unicode. */
class Unreadable extends Error {}

class Maker {
  readonly #pattern: readonly string[];
  /** How often a repetition without a bound is repeated beyond its least. */
  readonly #more: number;
  #at = 0;
  #depth = 0;

  constructor(pattern: string, more: number) {
    this.#pattern = [...pattern];
    this.#more = more;
  }

  whole(): string | undefined {
    try {
      const text = this.#choice();
      return this.#at === this.#pattern.length ? text : undefined;
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  /** The first of the alternatives, up to the end of the group. */
  #choice(): string {
    if (++this.#depth > MAX_DEPTH) throw new Unreadable();
    const first = this.#sequence();
    while (this.#take('|')) this.#sequence();
    this.#depth--;
    return first;
  }

  #sequence(): string {
    let text = '';
    while (this.#at < this.#pattern.length && this.#next !== '|' && this.#next !== ')') text += this.#repeated();
    return text;
  }

  #repeated(): string {
    const atom = this.#atom();
    const times = this.#times();
    if (atom.length * times > MAX_CHARACTERS) throw new Unreadable();
    return atom.repeat(times);
  }

  #times(): number {
    const [least, most] = this.#bounds();
    this.#take('?');
    return Math.min(most, least + this.#more);
  }

  #bounds(): readonly [least: number, most: number] {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    const [all, least, comma, most] =
      /^\{(\d{1,6})(,?)(\d{0,6})\}/.exec(this.#pattern.slice(this.#at, this.#at + 16).join('')) ?? [];
    if (all === undefined) return [1, 1];
    this.#at += all.length;
    if (comma === '') return [Number(least), Number(least)];
    return [Number(least), most === '' ? Number.POSITIVE_INFINITY : Number(most)];
  }

  #atom(): string {
    const character = this.#next;
    this.#at++;
    switch (character) {
      case '^':
      case '$':
        return '';
      case '.':
        return 'x';
      case '(':
        return this.#group();
      case '[':
        return this.#set();
      case '\\':
        return this.#escape(true);
      case '*':
      case '+':
      case '?':
        throw new Unreadable();
      default:
        return character;
    }
  }

  #group(): string {
    if (this.#take('?') && !this.#take(':')) {
      if (!this.#take('<') || this.#next === '=' || this.#next === '!') throw new Unreadable();
      while (this.#next !== '>') this.#at++;
      this.#at++;
    }
    const text = this.#choice();
    if (!this.#take(')')) throw new Unreadable();
    return text;
  }

  #escape(isAtom: boolean): string {
    const character = this.#next;
    this.#at++;
    if (character === 'b' && isAtom) return '';
    const length = character === 'x' ? 2 : character === 'u' ? 4 : 0;
    if (length > 0) {
      const digits = this.#pattern.slice(this.#at, this.#at + length).join('');
      if (!/^[0-9a-fA-F]+$/.test(digits) || digits.length < length) throw new Unreadable();
      this.#at += length;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const known = ESCAPES[character];
    if (known !== undefined) return known;
    if (/[1-9A-Za-z]/.test(character)) throw new Unreadable();
    return character;
  }

  /** One of a class such as `[a-z0-9]`. */
  #set(): string {
    const isExcluded = this.#take('^');
    const ranges: (readonly [from: string, to: string])[] = [];
    while (this.#next !== ']') {
      const known = this.#next === '\\' ? CLASSES[this.#pattern[this.#at + 1] ?? ''] : undefined;
      if (known !== undefined) {
        ranges.push(...known);
        this.#at += 2;
        continue;
      }
      const from = this.#member();
      const isRange = this.#next === '-' && this.#pattern[this.#at + 1] !== ']';
      if (isRange) this.#at++;
      ranges.push([from, isRange ? this.#member() : from]);
    }
    this.#at++;
    const isIn = (each: string) => ranges.some(([from, to]) => each >= from && each <= to);
    const found = isExcluded ? USUAL.find((each) => !isIn(each)) : ranges[0]?.[0];
    if (found === undefined) throw new Unreadable();
    return found;
  }

  #member(): string {
    const character = this.#next;
    this.#at++;
    // What these exclude is not known here.
    if (character === '\\' && 'DWS'.includes(this.#next)) throw new Unreadable();
    return character === '\\' ? this.#escape(false) : character;
  }

  #take(character: string): boolean {
    if (this.#pattern[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  get #next(): string {
    const character = this.#pattern[this.#at];
    if (character === undefined) throw new Unreadable();
    return character;
  }
}
