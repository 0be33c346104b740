/** Whether a text gives a secret away: as it is, in part, or spelled otherwise. */

/** So many characters of a secret are as telling as all of it. */
const FRAGMENT_CHARACTERS = 12;

/** What is looked for in a text, in lower case. */
interface Needles {
  /** Spellings that are no longer than a fragment. */
  readonly whole: readonly string[];
  readonly fragments: ReadonlySet<string>;
}

/** Made once for a list of secrets: an upstream can have much to say while it is overloaded. */
const known = new WeakMap<readonly string[], Needles>();

/** True where one of the secrets, or a long enough part of one, stands in the text, whatever its case. */
export function holdsSecret(text: string, secrets: readonly string[]): boolean {
  let needles = known.get(secrets);
  if (needles === undefined) {
    needles = needlesFor(secrets);
    known.set(secrets, needles);
  }
  const searched = text.toLowerCase();
  if (needles.whole.some((needle) => searched.includes(needle))) return true;
  for (let at = 0; at + FRAGMENT_CHARACTERS <= searched.length; at++) {
    if (needles.fragments.has(searched.slice(at, at + FRAGMENT_CHARACTERS))) return true;
  }
  return false;
}

function needlesFor(secrets: readonly string[]): Needles {
  const spellings = secrets.flatMap(spellingsOf).map((spelling) => spelling.toLowerCase());
  const fragments = new Set<string>();
  for (const spelling of spellings) {
    for (let at = 0; at + FRAGMENT_CHARACTERS <= spelling.length; at++) {
      fragments.add(spelling.slice(at, at + FRAGMENT_CHARACTERS));
    }
  }
  return { whole: spellings.filter(({ length }) => length < FRAGMENT_CHARACTERS), fragments };
}

/** How hosts and proxies write what they were sent: as it is, and as it looks in addresses, in JSON and in dumps. */
function spellingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const spellings = [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((offset) => [base64At(offset, bytes, 'base64'), base64At(offset, bytes, 'base64url')]),
  ];
  return spellings.filter((spelling) => spelling !== '');
}

/**
 * The characters that these bytes come to wherever they stand within others, so many of which stand before them in a
 * group of three: those that also depend on a neighbour are left out.
 */
function base64At(offset: number, bytes: Buffer, encoding: 'base64' | 'base64url'): string {
  const length = offset + bytes.length;
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding);
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor((length * 8) / 6));
}
