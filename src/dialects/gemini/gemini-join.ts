/** Joins the pieces of a stream into a whole answer, for hosts that stream although the request asked for a whole answer. */
import { isObject, objectsIn } from '../../core/json.ts';
import type { Fields } from '../dialect.ts';
import { indexOf, partsOf } from './gemini-answer.ts';

export function joinPieces(pieces: readonly Fields[]): Fields {
  const candidates = new Map<number, Candidate>();
  for (const { candidates: more } of pieces) {
    for (const [position, candidate] of objectsIn(more).entries()) {
      const index = indexOf(candidate, position);
      const known = candidates.get(index) ?? new Candidate();
      known.add(candidate);
      candidates.set(index, known);
    }
  }
  // Of other fields the last value counts: usage is a running total.
  const whole: Fields = Object.assign({}, ...pieces);
  if (candidates.size === 0) return whole;
  return { ...whole, candidates: Array.from(candidates.values(), (candidate) => candidate.whole()) };
}

class Candidate {
  readonly #fields: Record<string, unknown> = {};
  readonly #content: Record<string, unknown> = {};
  readonly #parts: Fields[] = [];

  add(candidate: Fields): void {
    Object.assign(this.#fields, candidate);
    if (isObject(candidate.content)) Object.assign(this.#content, candidate.content);
    for (const part of partsOf(candidate)) this.#addPart(part);
  }

  whole(): Fields {
    return { ...this.#fields, content: { ...this.#content, parts: this.#parts } };
  }

  /** Adds a part. Text continues in the next piece; other parts are whole. */
  #addPart(part: Fields): void {
    const last = this.#parts.at(-1);
    if (last !== undefined && isPlain(last) && isPlain(part) && last.thought === part.thought) {
      this.#parts[this.#parts.length - 1] = { ...last, text: `${last.text}${part.text}` };
    } else {
      this.#parts.push(part);
    }
  }
}

/** Whether a part is text without members of its own, such as a signature. */
function isPlain(part: Fields): boolean {
  return typeof part.text === 'string' && Object.keys(part).every((name) => name === 'text' || name === 'thought');
}
