/**
 * Custom tools, which take a text and not JSON, as functions: the one field that holds their text,
 * and how it is read back from a stream of JSON.
 */
import { isObject, objectOf, parseArguments, parseJson } from '../core/json.ts';
import type { Fields } from '../dialects/dialect.ts';
import type { Findings } from './findings.ts';
import type { Call } from './request.ts';

/** The name of the field. */
export const CUSTOM_INPUT = 'input';

/** The parameters of a custom tool. `format`: of its text, which no host of another dialect enforces. */
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

/** The arguments of a call as an object. What a model has written may be no JSON, or nothing. */
export function inputOf(input: Call['input']): Fields {
  if ('value' in input) return input.value;
  if ('text' in input) return { [CUSTOM_INPUT]: input.text };
  if (input.json.trim() === '') return {};
  return parseArguments(input.json) ?? { [CUSTOM_INPUT]: input.json };
}

/** The text in the arguments of a call. If the model has written other arguments, they are the text. */
function customInputOf(input: unknown): string {
  const text = isObject(input) ? input[CUSTOM_INPUT] : undefined;
  return typeof text === 'string' ? text : JSON.stringify(input ?? {});
}

/** What precedes the text, with any white space between its tokens. */
const OPENING = ['{', ...`"${CUSTOM_INPUT}"`, ':', '"'];
/** Its tokens begin here. */
const TOKEN_STARTS: ReadonlySet<number> = new Set([0, 1, OPENING.length - 2, OPENING.length - 1]);
const HIGH_SURROGATE = /[\ud800-\udbff]$/;

/** `other`: the arguments do not begin as they should. */
type State = 'opening' | 'text' | 'closed' | 'other';

/** Reads the text from arguments that come in pieces, as soon as it is there. Each is read once. */
export class CustomInputReader {
  #state: State = 'opening';
  /** How much of the opening has come. */
  #matched = 0;
  /** Before the text begins: all that has come. Then what has not become text yet. JSON. */
  #json = '';
  /** The first half of a character. */
  #half = '';

  /** The text that a piece adds. */
  push(json: string): string {
    if (this.#state === 'closed') return '';
    this.#json += json;
    if (this.#state === 'opening') this.#open(json);
    return this.#state === 'text' ? this.#take() : '';
  }

  /** What is left at the end. */
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
