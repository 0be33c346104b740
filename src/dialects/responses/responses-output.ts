/** What a model has written in the items of a response, whole or in the events of a stream. */
import { isObject } from '../../core/json.ts';
import { bytesOfBase64, NO_OUTPUT, type Output, unseenTokensOf } from '../answer.ts';
import type { Fields } from '../dialect.ts';

/** What a model writes as text, in items and in the parts of their content and summary. */
const TEXT_FIELDS = ['text', 'refusal', 'name', 'arguments', 'input', 'code', 'revised_prompt'] as const;
/** What it writes as objects: patches, commands, clicks, and what it searches for. */
const OBJECT_FIELDS = ['arguments', 'action', 'actions', 'operation', 'queries'] as const;

/**
 * What a model has written in a whole item. What tools have brought in is input (`output`, `outputs`, `result`,
 * `results`, `tools`), and an image is priced with the tool that has made it.
 */
export function outputOfItem(item: Fields): Output {
  const parts = [item.content, item.summary].filter(Array.isArray).flat().filter(isObject);
  const shown = parts.flatMap(textsOf);
  const objects = OBJECT_FIELDS.map((field) => item[field]).filter((value) => typeof value === 'object' && value);
  const written = [...textsOf(item), ...shown, ...objects.map((value) => JSON.stringify(value, withoutSources))];
  // Encrypted thinking, or compaction.
  const shownBytes = shown.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const images = parts.filter(({ type }) => type === 'output_image').length + (isDrawn(item) ? 1 : 0);
  return { ...NO_OUTPUT, written, unseenTokens: unseenTokensOf(item.encrypted_content, shownBytes), images };
}

/** Models that return images have this item as well as the tool of this name. */
function isDrawn({ type, result }: Fields): boolean {
  return type === 'image_generation_call' && typeof result === 'string' && result !== '';
}

/** The pages that a search has found are in its action. */
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
/** The text of a part when it begins, and once more when it is done. */
const PART_FIELDS = ['text', 'refusal', 'arguments', 'input', 'code', 'command'] as const;
/** Many times what any response has at the same time. */
const MAX_OPEN_ITEMS = 1_000;

/**
 * Reads the events of a stream. Most text comes in deltas, and then once more as its part and its item are done; some
 * hosts send no deltas, and nobody does for some kinds of items.
 */
export class ItemReader {
  /** How many characters there are of each item, by its place in the output. */
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

  /** What of a text has not come before. */
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
