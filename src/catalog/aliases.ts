/** Resolves aliases of models: exact names, and patterns with one `*`. Pure. */

/** One `*` in a name matches any text without a slash, and inserts it into the model's id. */
const ANY = '*';
/** A name that the journal may record: at most 200 characters, without blanks and control characters. */
const NAME = /^[!-~]{1,200}$/;

interface Pattern {
  readonly name: string;
  readonly model: string;
}

export class Aliases {
  readonly #exact: ReadonlyMap<string, string>;
  /** The patterns, those with the longest fixed text first. */
  readonly #patterns: readonly Pattern[];

  /** `aliases`: the id of a model for each name. */
  constructor(aliases: ReadonlyMap<string, string>) {
    this.#exact = new Map([...aliases].filter(([name]) => !name.includes(ANY)));
    this.#patterns = [...aliases]
      .filter(([name]) => name.includes(ANY))
      .map(([name, model]) => ({ name, model }))
      .sort((a, b) => b.name.length - a.name.length);
  }

  /** The id behind a name, whether the model exists or not. */
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

  /** The aliases of a model. A pattern that maps many names to it is not expanded. */
  namesOf(id: string): string[] {
    const exact = [...this.#exact.keys()];
    const ofPatterns = this.#patterns
      .filter(({ model }) => model.includes(ANY))
      .flatMap(({ name, model }) => replaced(model, name, id) ?? []);
    return [...new Set([...exact, ...ofPatterns])].filter((name) => this.idOf(name) === id);
  }
}

/** Matches `text` with the pattern `from`, and applies the match to the pattern `to`. Undefined without a match. */
function replaced(from: string, to: string, text: string): string | undefined {
  const [head = '', tail = ''] = from.split(ANY);
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return undefined;
  const any = text.slice(head.length, text.length - tail.length);
  return any.includes('/') ? undefined : to.replace(ANY, () => any);
}
