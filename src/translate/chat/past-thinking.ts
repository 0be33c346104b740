/** Collects the reasoning of a chat host into a block, which clients send back with the next turn. */
import { objectsIn } from '../../core/json.ts';
import type { Fields } from '../../dialects/dialect.ts';
import { detailOf, signatureOfDetails, signatureOfField, type ThinkingField } from '../thought-signature.ts';

export class PastThinking {
  #text = '';
  #field: ThinkingField | undefined;
  readonly #details: Fields[] = [];

  /** Whether the current block is empty. */
  get isEmpty(): boolean {
    return this.#field === undefined && this.#details.length === 0;
  }

  addText(field: ThinkingField, text: string): void {
    this.#field ??= field;
    this.#text += text;
  }

  /** Adds details, which arrive in pieces. */
  addDetails(details: readonly Fields[]): void {
    for (const detail of details.map(detailOf)) {
      const last = this.#details.at(-1);
      if (last !== undefined && continues(last, detail)) this.#details[this.#details.length - 1] = merged(last, detail);
      else this.#details.push(detail);
    }
  }

  /** Ends and returns the block; undefined if its host requires no block back. */
  seal(): Fields | undefined {
    const thinking = this.#text;
    const field = this.#field;
    const details = this.#details.splice(0);
    this.#text = '';
    this.#field = undefined;
    // Unsigned details only repeat the text.
    if (details.some(isSigned)) return { type: 'thinking', thinking, signature: signatureOfDetails(details) };
    return field && { type: 'thinking', thinking, signature: signatureOfField(field) };
  }
}

/** Whether a detail has content beyond its text. */
function isSigned({ signature, data }: Fields): boolean {
  return [signature, data].some((value) => typeof value === 'string' && value !== '');
}

/** Whether a detail continues the previous one. Encrypted details arrive in one piece. */
function continues(last: Fields, { type, index, data }: Fields): boolean {
  return last.type === type && last.index === index && data === undefined && !isSigned(last);
}

const CONTINUED = ['text', 'summary'];

function merged(last: Fields, next: Fields): Fields {
  const pieces = Object.entries(next).map(([name, value]) => [
    name,
    CONTINUED.includes(name) ? `${last[name] ?? ''}${value}` : value,
  ]);
  return { ...last, ...Object.fromEntries(pieces) };
}

export function detailsIn({ reasoning_details: details }: Fields): readonly Fields[] {
  return objectsIn(details);
}
