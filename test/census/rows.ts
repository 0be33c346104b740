/** How the tables of the census are written, and what a name gets from them. */

/**
 * `acted_on`: it decides what the gateway does. `held`: money and tokens are held for it. `priced`: it has a price of
 * its own in the config, and is refused without one. `refused`: 400. `free`: it costs nothing, for the reason given.
 */
export type What = 'acted_on' | 'held' | 'priced' | 'refused' | 'free';

/**
 * How it shows. Of what is held: `text`: the hold grows with the text; `output`: with the number of tokens or calls, or since
 * output has another price; `predicted`: with the text as input and as output; `hidden`: by the declared maximum, also of a stream;
 * `image`, `file`, `audio`: by what one of these takes, however little data there is; `again`: by the input once more; `write`,
 * `long_write`: by the price of input that is written to a cache. Of what is priced, `variant`: refused although its tool has a
 * price. Of what is acted on, `whole`: in a whole answer, and elsewhere in a stream.
 */
export type Shown =
  | 'text'
  | 'output'
  | 'predicted'
  | 'hidden'
  | 'image'
  | 'file'
  | 'audio'
  | 'again'
  | 'write'
  | 'long_write'
  | 'variant'
  | 'whole';

/** Names with one verdict. */
export interface Group {
  readonly what: What;
  /** How, or why: a short sentence without a full stop. */
  readonly why: string;
  /** Undefined for what is plain from the verdict. */
  readonly shown: Shown | undefined;
  /** In the order of the table. */
  readonly names: readonly string[];
}

export interface Row extends Omit<Group, 'names'> {
  readonly name: string;
}

/**
 * A group. Names are separated by spaces. One that begins with a dot continues the last one with brackets, and
 * `kind[name]:` begins nothing but such a continuation; `a|b` stands for either. `[*].id` is the field `id` of every
 * kind that has no row of its own for it, and `name.**` is a name and all that is in it.
 */
function group(what: What) {
  return (why: string, names: string, shown?: Shown): Group => ({ what, why, shown, names: expand(names) });
}

export const actedOn = group('acted_on');
export const held = group('held');
export const priced = group('priced');
export const refused = group('refused');
export const free = group('free');

/** The names in a text that is written as for a group. */
function expand(names: string): readonly string[] {
  let kinds: readonly string[] = [''];
  return names
    .trim()
    .split(/\s+/)
    .flatMap((word) => {
      if (word.startsWith('.')) return kinds.flatMap((kind) => alternatives(word).map((path) => kind + path));
      const all = alternatives(word.replace(/:$/, ''));
      if (word.endsWith(']') || word.endsWith(']:')) kinds = all;
      return word.endsWith(':') ? [] : all;
    });
}

/** `a[b|c].d=e|f` is four names: alternatives stand between brackets or after the sign. */
function alternatives(word: string): readonly string[] {
  const [, before = '', choices = '', after = ''] = /^([^[=]*[[=])([^\]]*\|[^\]]*?)(\].*)?$/.exec(word) ?? [];
  if (choices === '') return [word];
  return choices
    .split('|')
    .flatMap((choice) => (after === '' ? [before + choice] : alternatives(before + choice + after)));
}

/** The verdicts on the names of one place. */
export class Table {
  readonly groups: readonly Group[];
  readonly #rows = new Map<string, Row>();
  readonly #whole = new Set<string>();

  constructor(groups: readonly Group[]) {
    this.groups = groups;
    for (const { names, ...verdict } of groups) {
      for (const written of names) {
        const name = written.replace(/\.\*\*$/, '');
        if (this.#rows.has(name)) throw new Error(`two rows for ${name}`);
        this.#rows.set(name, { ...verdict, name });
        if (name !== written) this.#whole.add(name);
      }
    }
  }

  /** Every row, with those of all kinds as `[*].id`. */
  get names(): readonly string[] {
    return [...this.#rows.keys()];
  }

  /** Whether a name stands for all that is in it. */
  isWhole(name: string): boolean {
    return this.#whole.has(name) || (this.#whole.has(ofEveryKind(name)) && !this.#rows.has(name));
  }

  /** The row of a name. A value has that of its field unless the table has rows for its values. */
  rowOf(name: string): Row | undefined {
    const own = this.#rows.get(name) ?? this.#rows.get(ofEveryKind(name));
    const [field = '', value] = name.split('=');
    if (own !== undefined || value === undefined || this.hasValues(field)) return own;
    return this.rowOf(field);
  }

  hasValues(field: string): boolean {
    return this.names.some((name) => name.startsWith(`${field}=`));
  }
}

/** `content[image].source` is also `[*].source`. */
function ofEveryKind(name: string): string {
  return name.replace(/^[^[]*\[[^\]]*\](?=\.)/, '[*]');
}
