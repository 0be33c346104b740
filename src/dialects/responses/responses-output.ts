/** Reads the output in the items of a response, whole or in stream events. */
import { isObject } from '../../core/json.ts';
import { bytesOfBase64, NO_OUTPUT, type Output, unseenTokensOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

/** Text fields of the model, in items and in the parts of their content and summary. */
const TEXT_FIELDS = ['text', 'refusal', 'name', 'arguments', 'input', 'code', 'revised_prompt'] as const;
/** Object fields of the model: patches, commands, clicks and search queries. */
const OBJECT_FIELDS = ['arguments', 'action', 'actions', 'operation', 'queries'] as const;

/**
 * Returns the output of a whole item. Results of tools are input (`output`, `outputs`, `result`, `results`, `tools`), and
 * the price of an image is part of its tool.
 */
export function outputOfItem(item: Fields): Output {
  const parts = [item.content, item.summary].filter(Array.isArray).flat().filter(isObject);
  const shown = parts.flatMap(textsOf);
  const objects = OBJECT_FIELDS.map((field) => item[field]).filter((value) => typeof value === 'object' && value);
  const written = [...textsOf(item), ...shown, ...objects.map((value) => JSON.stringify(value, withoutSources))];
  const shownBytes = shown.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const images = parts.filter(({ type }) => type === 'output_image').length + (isDrawn(item) ? 1 : 0);
  return { ...NO_OUTPUT, written, unseenTokens: unseenTokensOf(item.encrypted_content, shownBytes), images };
}

/** Whether an item contains an image, from the model itself or from the tool of this name. */
function isDrawn({ type, result }: Fields): boolean {
  return type === 'image_generation_call' && typeof result === 'string' && result !== '';
}

/** Drops the pages found by a search, which its action lists. */
function withoutSources(name: string, value: unknown): unknown {
  return name === 'sources' ? undefined : value;
}

function textsOf(fields: Fields): string[] {
  const texts = TEXT_FIELDS.map((field) => fields[field]);
  return texts.filter((text) => typeof text === 'string' && text !== '') as string[];
}

const AUDIO_DELTA = 'response.audio.delta';
const ITEM_ADDED = 'response.output_item.added';
const ITEM_DONE = 'response.output_item.done';
/** The text fields of a part, in its start and its end event. */
const PART_FIELDS = ['text', 'refusal', 'arguments', 'input', 'code', 'command'] as const;
/** Many times the open items of any response. */
const MAX_OPEN_ITEMS = 1_000;

/**
 * Reads the events of a stream. Most text arrives in deltas and again in the end events of its part and item. Some hosts
 * send no deltas, and some kinds of items never have any.
 */
export class ItemReader {
  /** Characters read of each item, by output index. */
  readonly #characters = new Map<unknown, number>();

  read(event: Fields): Output {
    const { type, output_index: place, delta, item } = event;
    if (typeof type !== 'string') return NO_OUTPUT;
    if (type === AUDIO_DELTA) return { ...NO_OUTPUT, audioBytes: bytesOfBase64(delta) };
    if (type.endsWith('.delta')) return typeof delta === 'string' ? this.#add(place, delta) : NO_OUTPUT;
    if (type === ITEM_ADDED && isObject(item)) return this.#add(place, outputOfItem(item).written.join(''));
    if (type === ITEM_DONE && isObject(item)) return this.#end(place, outputOfItem(item));
    if (type.endsWith('.added')) return this.#add(place, partText(event));
    return type.endsWith('.done') ? this.#add(place, this.#restOf(place, partText(event))) : NO_OUTPUT;
  }

  /** Adds a delta of an item. */
  addText(place: unknown, text: string): void {
    this.#add(place, text);
  }

  #end(place: unknown, { written, unseenTokens, images }: Output): Output {
    const output = this.#add(place, this.#restOf(place, written.join('')));
    this.#characters.delete(place);
    return unseenTokens + images === 0 ? output : { ...output, unseenTokens, images };
  }

  /** Returns the part of a text that is new. */
  #restOf(place: unknown, text: string): string {
    return text.slice(this.#characters.get(place) ?? 0);
  }

  #add(place: unknown, text: string): Output {
    if (text === '') return NO_OUTPUT;
    const known = this.#characters.get(place);
    if (known !== undefined || this.#characters.size < MAX_OPEN_ITEMS) {
      this.#characters.set(place, (known ?? 0) + text.length);
    }
    return { ...NO_OUTPUT, written: [text] };
  }
}

function partText({ part, ...event }: Fields): string {
  const holder = isObject(part) ? part : event;
  const text = PART_FIELDS.map((field) => holder[field]).find((value) => typeof value === 'string');
  return (text as string | undefined) ?? '';
}
