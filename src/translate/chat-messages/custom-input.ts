/**
 * Custom tools, which take a text and not JSON, as functions: the one field that holds their text,
 * and how it is read back from a stream of JSON.
 */
import { isObject, parseJson } from '../../core/json.ts';

/** The name of the field. */
export const CUSTOM_INPUT = 'input';

/** The text in the arguments of a call. If the model has written other arguments, they are the text. */
export function customInputOf(input: unknown): string {
  const text = isObject(input) ? input[CUSTOM_INPUT] : undefined;
  return typeof text === 'string' ? text : JSON.stringify(input ?? {});
}

const OPENING = new RegExp(`^\\s*\\{\\s*"${CUSTOM_INPUT}"\\s*:\\s*"`);
const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** Reads the text from arguments that come in pieces, as soon as it is there. */
export class CustomInputReader {
  #hasOpened = false;
  /** What has not become text yet: JSON. From its closing quote on, it never does. */
  #json = '';
  /** The first half of a character. */
  #half = '';

  /** The text that a piece adds. */
  push(json: string): string {
    this.#json += json;
    if (!this.#hasOpened) {
      const opening = OPENING.exec(this.#json);
      if (opening === null) return '';
      this.#hasOpened = true;
      this.#json = this.#json.slice(opening[0].length);
    }
    return this.#take();
  }

  /** What is left at the end. */
  end(): string {
    if (this.#hasOpened) return this.#half;
    const parsed = parseJson(this.#json);
    return parsed === undefined ? this.#json : customInputOf(parsed.value);
  }

  #take(): string {
    const end = endOfCharacters(this.#json);
    const text = this.#half + decode(this.#json.slice(0, end));
    this.#json = this.#json.slice(end);
    // Libraries in other languages cannot join the halves of a character again.
    this.#half = HIGH_SURROGATE.exec(text)?.[0] ?? '';
    return text.slice(0, text.length - this.#half.length);
  }
}

/** Where the complete characters of a JSON string end: at its closing quote, or within an escape. */
function endOfCharacters(json: string): number {
  let at = 0;
  while (at < json.length && json[at] !== '"') {
    const length = json[at] !== '\\' ? 1 : json[at + 1] === 'u' ? 6 : 2;
    if (at + length > json.length) break;
    at += length;
  }
  return at;
}

function decode(characters: string): string {
  const parsed = parseJson(`"${characters}"`);
  return typeof parsed?.value === 'string' ? parsed.value : characters;
}
