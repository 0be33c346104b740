/** Represents custom tools, which take text, as functions with one text field, and reads that text back from streamed JSON. */
import { isObject, objectOf, parseArguments, parseJson } from '../core/json.ts';
import type { Fields } from '../dialects/dialect.ts';
import type { Findings } from './findings.ts';
import type { Call } from './request.ts';

/** Name of the text field. */
export const CUSTOM_INPUT = 'input';

/** Parameters of a custom tool. `format`: the text's grammar, which hosts of other dialects do not enforce. */
export function customParameters(format: unknown, where: string, findings: Findings): Fields {
  return {
    type: 'object',
    properties: { [CUSTOM_INPUT]: { type: 'string', description: describe(format, where, findings) } },
    required: [CUSTOM_INPUT],
    additionalProperties: false,
  };
}

const CUSTOM_TEXT = 'The text that the tool takes.';

function describe(format: unknown, where: string, findings: Findings): string {
  if (format === undefined || format === null) return CUSTOM_TEXT;
  const { type, syntax, definition } = objectOf(format);
  if (type === 'text') return CUSTOM_TEXT;
  if (type === 'grammar' && typeof syntax === 'string' && typeof definition === 'string') {
    return `${CUSTOM_TEXT} It must match this grammar (${syntax}):\n${definition}`;
  }
  findings.refuse(where, 'expected the type text, or grammar with a syntax and a definition');
  return '';
}

/** Returns the arguments of a call as an object. Arguments written by a model may be invalid or empty. */
export function inputOf(input: Call['input']): Fields {
  if ('value' in input) return input.value;
  if ('text' in input) return { [CUSTOM_INPUT]: input.text };
  if (input.json.trim() === '') return {};
  return parseArguments(input.json) ?? { [CUSTOM_INPUT]: input.json };
}

/** Returns the text of a custom call. If the arguments have another form, their JSON is the text. */
function customInputOf(input: unknown): string {
  const text = isObject(input) ? input[CUSTOM_INPUT] : undefined;
  return typeof text === 'string' ? text : JSON.stringify(input ?? {});
}

/** Tokens before the text. White space may separate them. */
const OPENING = ['{', ...`"${CUSTOM_INPUT}"`, ':', '"'];
/** Start positions of the tokens. */
const TOKEN_STARTS: ReadonlySet<number> = new Set([0, 1, OPENING.length - 2, OPENING.length - 1]);
const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** `other`: the arguments have an unexpected form. */
type State = 'opening' | 'text' | 'closed' | 'other';

/** Extracts the text from streamed arguments as early as possible, reading each piece once. */
export class CustomInputReader {
  #state: State = 'opening';
  /** Number of matched characters of the opening. */
  #matched = 0;
  /** JSON not yet converted: before the text, everything received. */
  #json = '';
  /** First half of a surrogate pair. */
  #half = '';

  /** Adds a piece and returns the new text. */
  push(json: string): string {
    if (this.#state === 'closed') return '';
    this.#json += json;
    if (this.#state === 'opening') this.#open(json);
    return this.#state === 'text' ? this.#take() : '';
  }

  /** Returns the remaining text. */
  end(): string {
    if (this.#state === 'text' || this.#state === 'closed') return this.#half;
    const parsed = parseJson(this.#json);
    return parsed === undefined ? this.#json : customInputOf(parsed.value);
  }

  #open(json: string): void {
    let at = 0;
    for (; at < json.length && this.#matched < OPENING.length; at++) {
      const character = json[at] as string;
      if (character === OPENING[this.#matched]) this.#matched++;
      else if (!TOKEN_STARTS.has(this.#matched) || character.trim() !== '') {
        this.#state = 'other';
        return;
      }
    }
    if (this.#matched < OPENING.length) return;
    this.#state = 'text';
    this.#json = json.slice(at);
  }

  #take(): string {
    const end = endOfCharacters(this.#json);
    const text = this.#half + decode(this.#json.slice(0, end));
    if (this.#json[end] === '"') this.#state = 'closed';
    this.#json = this.#state === 'closed' ? '' : this.#json.slice(end);
    // A surrogate pair must not be split, because libraries in other languages cannot rejoin the halves.
    this.#half = HIGH_SURROGATE.exec(text)?.[0] ?? '';
    return text.slice(0, text.length - this.#half.length);
  }
}

/** Returns the end of the complete characters: the closing quote, or the start of an incomplete escape. */
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
