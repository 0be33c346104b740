/** How alike the names of models are, to name those that a mistyped one may mean. Pure. */

/** What is compared of a name: a client may send one of any length. */
const MOST_CHARACTERS = 100;
/** Below it, names have no more in common than any two. From 0 to 1. */
const LEAST_LIKENESS = 0.5;

/** The candidates whose ids are most like a name, the most alike first. */
export function mostAlike<T extends { readonly id: string }>(
  name: string,
  candidates: readonly T[],
  most: number,
): T[] {
  const pairs = pairsOf(name);
  return candidates
    .map((candidate) => ({ candidate, likeness: likeness(pairs, pairsOf(candidate.id)) }))
    .filter(({ likeness }) => likeness >= LEAST_LIKENESS)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

/** The share of pairs that two names have in common: Dice's coefficient. */
function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const pair of a) if (b.has(pair)) common += 1;
  return (2 * common) / (a.size + b.size);
}

/** The pairs of neighbouring letters and digits after the last slash: people mistake the provider, case and punctuation. */
function pairsOf(name: string): ReadonlySet<string> {
  const own = name.slice(0, MOST_CHARACTERS).split('/').at(-1) ?? '';
  const characters = ` ${own.toLowerCase().replaceAll(/[^a-z0-9]/g, '')} `;
  return new Set(Array.from({ length: characters.length - 1 }, (_, i) => characters.slice(i, i + 2)));
}
