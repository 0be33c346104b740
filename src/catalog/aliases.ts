/** Other names for models, as clients have them built in: exact ones, and patterns with one `*`. Pure. */

/** One `*` in a name stands for any text without a slash, and in the model for the same text. */
const ANY = '*';
/** A name that can go into the journal: no blanks, no control characters, 200 characters at most. */
const NAME = /^[!-~]{1,200}$/;

interface Pattern {
  readonly name: string;
  readonly model: string;
}

export class Aliases {
  readonly #exact: ReadonlyMap<string, string>;
  /** The one with the longest fixed text first. */
  readonly #patterns: readonly Pattern[];

  /** `aliases`: the id of a model for each name. */
  constructor(aliases: ReadonlyMap<string, string>) {
    this.#exact = new Map([...aliases].filter(([name]) => !name.includes(ANY)));
    this.#patterns = [...aliases]
      .filter(([name]) => name.includes(ANY))
      .map(([name, model]) => ({ name, model }))
      .sort((a, b) => b.name.length - a.name.length);
  }

  /** The id that a name stands for, whether there is such a model or not. */
  idOf(name: string): string | undefined {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return exact;
    if (!NAME.test(name)) return undefined;
    for (const pattern of this.#patterns) {
      const id = replaced(pattern.name, pattern.model, name);
      if (id !== undefined) return id;
    }
    return undefined;
  }

  /** The names that stand for a model. Where a pattern leads many names to it, those are not listed. */
  namesOf(id: string): string[] {
    const exact = [...this.#exact.keys()];
    const ofPatterns = this.#patterns
      .filter(({ model }) => model.includes(ANY))
      .flatMap(({ name, model }) => replaced(model, name, id) ?? []);
    return [...new Set([...exact, ...ofPatterns])].filter((name) => this.idOf(name) === id);
  }
}

/** `text` as `to` has it, if it is as `from` has it. */
function replaced(from: string, to: string, text: string): string | undefined {
  const [head = '', tail = ''] = from.split(ANY);
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return undefined;
  const any = text.slice(head.length, text.length - tail.length);
  return any.includes('/') ? undefined : to.replace(ANY, () => any);
}
