/** Finds the end of a JSON object or array that arrives in pieces, without keeping it. */

const OPENING = '{[';
const CLOSING = '}]';

export class JsonEnd {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #isReached = false;

  /** Whether the text up to here is complete. */
  get isReached(): boolean {
    return this.#isReached;
  }

  read(text: string): void {
    for (const character of text) {
      if (this.#isInString) this.#readInString(character);
      else if (character === '"') this.#isInString = true;
      else if (OPENING.includes(character)) this.#depth++;
      else if (CLOSING.includes(character) && --this.#depth === 0) this.#isReached = true;
    }
  }

  #readInString(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === '\\') this.#isEscaped = true;
    else if (character === '"') this.#isInString = false;
  }
}
