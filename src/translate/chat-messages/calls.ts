/** How calls of tools come back to a client of the chat format. */
import type { Fields } from '../../dialects/dialect.ts';
import { CustomInputReader, customInputOf } from './custom-input.ts';

export interface CallStyle {
  /** The names of the tools that take a text and not JSON. */
  readonly customTools: ReadonlySet<string>;
  /** The request has `functions`: there is one call, in the deprecated `function_call`. */
  readonly isFunctionCall: boolean;
}

/** The fields of a message that hold the calls in an answer. */
export function callsOf(blocks: readonly Fields[], style: CallStyle): Fields {
  const [first] = blocks;
  if (first === undefined) return {};
  if (style.isFunctionCall) return { function_call: functionOf(first) };
  return {
    tool_calls: blocks.map((block) => {
      const { id, name, input } = block;
      if (!isCustom(block, style)) return { id, type: 'function', function: functionOf(block) };
      return { id, type: 'custom', custom: { name, input: customInputOf(input) } };
    }),
  };
}

function functionOf({ name, input }: Fields): Fields {
  return { name, arguments: JSON.stringify(input ?? {}) };
}

function isCustom({ name }: Fields, { customTools }: CallStyle): boolean {
  return typeof name === 'string' && customTools.has(name);
}

/** Where a call stands in a delta. */
interface CallPlace {
  /** The delta that begins it. */
  readonly start: Fields;
  /** The delta that adds to its arguments, or to its text. */
  readonly toDelta: (text: string) => Fields;
}

/** Translates one call in a stream to deltas of the message. */
export class CallWriter {
  readonly start: Fields;
  readonly #toDelta: CallPlace['toDelta'];
  /** Only of custom tools. */
  readonly #reader: CustomInputReader | undefined;
  /** What the arguments are if none are streamed: usually an empty object. */
  readonly #input: unknown;
  #isEmpty = true;

  /** `block`: as the host began it. `index`: of the call among all calls of the answer. */
  constructor(block: Fields, index: number, style: CallStyle) {
    const { start, toDelta } = placeOf(block, index, style);
    this.start = start;
    this.#toDelta = toDelta;
    this.#reader = isCustom(block, style) ? new CustomInputReader() : undefined;
    this.#input = block.input;
  }

  /** The delta for a piece of the arguments. */
  push(json: string): Fields | undefined {
    if (json === '') return undefined;
    this.#isEmpty = false;
    return this.#deltaOf(this.#reader === undefined ? json : this.#reader.push(json));
  }

  /** The delta for what is left at the end. */
  end(): Fields | undefined {
    if (!this.#isEmpty) return this.#deltaOf(this.#reader?.end() ?? '');
    return this.#deltaOf(this.#reader === undefined ? JSON.stringify(this.#input ?? {}) : customInputOf(this.#input));
  }

  #deltaOf(text: string): Fields | undefined {
    return text === '' ? undefined : this.#toDelta(text);
  }
}

function placeOf(block: Fields, index: number, style: CallStyle): CallPlace {
  const { id, name } = block;
  if (style.isFunctionCall) {
    const toDelta = (text: string) => ({ function_call: { arguments: text } });
    return { start: { function_call: { name, arguments: '' } }, toDelta };
  }
  if (isCustom(block, style)) {
    const toDelta = (input: string) => ({ tool_calls: [{ index, custom: { input } }] });
    return { start: { tool_calls: [{ index, id, type: 'custom', custom: { name, input: '' } }] }, toDelta };
  }
  const toDelta = (text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] });
  return { start: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }, toDelta };
}
