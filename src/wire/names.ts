/**
 * Case-insensitive field names. Hosts written in Go, among others, decode JSON this way and would read other fields than
 * the checked ones.
 */

const ASCII = /^[\0-\x7f]*$/;

/** Returns a name by simple case folding: `MAX_TOKENS`, and `max_to\u212aens` with a Kelvin sign, become `max_tokens`. */
export function foldCase(name: string): string {
  return ASCII.test(name) ? name.toLowerCase() : Array.from(name, foldCharacter).join('');
}

/** Folds by way of upper case, which joins characters that share it, such as the long s (U+017F) and s. */
function foldCharacter(character: string): string {
  const upper = character.toUpperCase();
  // Simple folding keeps a character if full folding would expand it to several.
  return (upper.length === character.length ? upper : character).toLowerCase();
}

/** Each set of known names by folded form. These sets never change. */
const foldedNames = new WeakMap<ReadonlySet<string>, ReadonlyMap<string, string>>();

function foldedNamesOf(known: ReadonlySet<string>): ReadonlyMap<string, string> {
  let names = foldedNames.get(known);
  if (names === undefined) {
    // Reversed, so that the first of several names with the same folded form wins.
    names = new Map([...known].reverse().map((name) => [foldCase(name), name]));
    foldedNames.set(known, names);
  }
  return names;
}

/**
 * Returns the first of `names` that differs from a name in `known` only by letter case, with that known name. `known` must
 * not change after the first call.
 */
export function findCaseVariant(
  names: Iterable<string>,
  known: ReadonlySet<string>,
): { readonly name: string; readonly resembles: string } | undefined {
  for (const name of names) {
    if (known.has(name)) continue;
    const resembles = foldedNamesOf(known).get(foldCase(name));
    if (resembles !== undefined) return { name, resembles };
  }
  return undefined;
}
