/** Detects secrets in a text: verbatim, in part, or encoded. */

/** A fragment of a secret of this length counts as the secret. */
const FRAGMENT_CHARACTERS = 12;

/** What to search for, in lower case. */
interface Needles {
  /** Encodings that are shorter than a fragment. */
  readonly whole: readonly string[];
  readonly fragments: ReadonlySet<string>;
}

/** Computed once per list of secrets: an overloaded upstream can send many errors. */
const cache = new WeakMap<readonly string[], Needles>();

/** True if the text contains one of the secrets, or a long enough part of one, in any case. */
export function holdsSecret(text: string, secrets: readonly string[]): boolean {
  let needles = cache.get(secrets);
  if (needles === undefined) {
    needles = needlesFor(secrets);
    cache.set(secrets, needles);
  }
  const searched = text.toLowerCase();
  if (needles.whole.some((needle) => searched.includes(needle))) return true;
  for (let at = 0; at + FRAGMENT_CHARACTERS <= searched.length; at++) {
    if (needles.fragments.has(searched.slice(at, at + FRAGMENT_CHARACTERS))) return true;
  }
  return false;
}

function needlesFor(secrets: readonly string[]): Needles {
  const encodings = secrets.flatMap(encodingsOf).map((encoding) => encoding.toLowerCase());
  const fragments = new Set<string>();
  for (const encoding of encodings) {
    for (let at = 0; at + FRAGMENT_CHARACTERS <= encoding.length; at++) {
      fragments.add(encoding.slice(at, at + FRAGMENT_CHARACTERS));
    }
  }
  return { whole: encodings.filter(({ length }) => length < FRAGMENT_CHARACTERS), fragments };
}

/**
 * The forms in which hosts and proxies echo what they were sent: verbatim, URL-encoded, in JSON,
 * hex and base64.
 */
function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const encodings = [
    secret,
    encodeURIComponent(secret.toWellFormed()),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((offset) => [base64At(offset, bytes, 'base64'), base64At(offset, bytes, 'base64url')]),
  ];
  return encodings.filter((encoding) => encoding !== '');
}

/**
 * The base64 of these bytes within a longer text, if `offset` bytes precede them in their group of
 * three. Omits the characters that also depend on neighbouring bytes.
 */
function base64At(offset: number, bytes: Buffer, encoding: 'base64' | 'base64url'): string {
  const length = offset + bytes.length;
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding);
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor((length * 8) / 6));
}
