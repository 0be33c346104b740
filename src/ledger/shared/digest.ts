/**
 * A 32-bit checksum over a sequence of numbers. Two different sequences collide with a probability of one in four
 * billion. Pure.
 */

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;
const WORD = 2 ** 32;

/** FNV-1a over words of 32 bits. */
export class Digest {
  #sum = OFFSET;

  /** Adds integers by their lower 64 bits. */
  add(...values: readonly (number | bigint)[]): void {
    for (const value of values) {
      const number = Number(value);
      if (Number.isSafeInteger(number)) {
        this.#word(number >>> 0);
        this.#word(Math.floor(number / WORD) >>> 0);
      } else {
        const wide = BigInt.asUintN(64, BigInt(value));
        this.#word(Number(wide & 0xffff_ffffn));
        this.#word(Number(wide >> 32n));
      }
    }
  }

  get text(): string {
    return (this.#sum >>> 0).toString(16);
  }

  #word(word: number): void {
    this.#sum = Math.imul(this.#sum ^ word, PRIME);
    this.#sum ^= this.#sum >>> 15;
  }
}
