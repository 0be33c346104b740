/**
 * Names of fields without regard to letter case. Hosts written in Go, among others, decode JSON that way, and would read
 * another request than the one that was checked.
 */

const ASCII = /^[\0-\x7f]*$/;

/** A name by simple case folding: `MAX_TOKENS`, and `max_to\u212aens` with a Kelvin sign, become `max_tokens`. */
export function foldCase(name: string): string {
  return ASCII.test(name) ? name.toLowerCase() : Array.from(name, foldCharacter).join('');
}

/** By way of upper case, which joins characters that share it, such as the long s (U+017F) and s. */
function foldCharacter(character: string): string {
  const upper = character.toUpperCase();
  // Simple folding keeps a character that full folding would turn into several.
  return (upper.length === character.length ? upper : character).toLowerCase();
}

/** The first of `names` that is in `known` only when letter case is disregarded, with the name that it resembles. */
export function findCaseVariant(
  names: Iterable<string>,
  known: ReadonlySet<string>,
): { readonly name: string; readonly resembles: string } | undefined {
  for (const name of names) {
    if (known.has(name)) continue;
    const folded = foldCase(name);
    for (const each of known) {
      if (each.length === folded.length && foldCase(each) === folded) return { name, resembles: each };
    }
  }
  return undefined;
}
