/** The secrets that must never reach a client, and the search for them in texts: verbatim, in part or encoded. */

/** The secrets of one or several upstreams. */
export interface Secrets {
  /** Secrets that match by any twelve characters, in any encoding. */
  readonly parts: readonly string[];
  /** Secrets too short or too ordinary to match in part: only as whole words, verbatim. */
  readonly words: readonly string[];
  /**
   * Secrets that only an echo contains. Whole answers are searched only for these: a model may legitimately write the name
   * of a host.
   */
  readonly credentials: readonly string[];
  /** Credentials of a single request, such as its signature. They match in part, too. */
  readonly ofRequest?: readonly string[];
}

export const NO_SECRETS: Secrets = { parts: [], words: [], credentials: [] };

export function mergeSecrets(each: readonly Secrets[]): Secrets {
  const merged = (field: Exclude<keyof Secrets, 'ofRequest'>) => [
    ...new Set(each.flatMap((secrets) => secrets[field])),
  ];
  return { parts: merged('parts'), words: merged('words'), credentials: merged('credentials') };
}

/** Returns a function that merges secrets that may change, such as tokens. It returns the same object until one changes. */
export function currentSecrets(sources: readonly { readonly secrets: Secrets }[]): () => Secrets {
  let seen: readonly Secrets[] = [];
  let merged = NO_SECRETS;
  return () => {
    if (sources.some(({ secrets }, index) => secrets !== seen[index])) {
      seen = sources.map(({ secrets }) => secrets);
      merged = mergeSecrets(seen);
    }
    return merged;
  };
}

/** Adds the credentials of one request. */
export function withRequestCredentials(secrets: Secrets, ofRequest: readonly string[]): Secrets {
  return ofRequest.length === 0 ? secrets : { ...secrets, ofRequest };
}

/** A fragment of this length counts as the secret. */
const FRAGMENT_CHARACTERS = 12;

/** Search terms in lower case. */
interface Needles {
  /** Encodings shorter than a fragment. */
  readonly whole: readonly string[];
  readonly fragments: ReadonlySet<string>;
  readonly parts: readonly string[];
  readonly words: RegExp | undefined;
}

/** Computed once per set of secrets, with their parts as the key: an overloaded upstream can send many errors. */
const cache = new WeakMap<readonly string[], Needles>();

/** Whether the text contains a secret or a fragment of one, in any letter case. */
export function holdsSecret(text: string, secrets: Secrets): boolean {
  const searched = text.toLowerCase();
  if (isIn(searched, needlesOf(secrets))) return true;
  const { ofRequest } = secrets;
  return ofRequest !== undefined && isIn(searched, needlesFor({ parts: ofRequest, words: [] }));
}

function isIn(searched: string, { whole, fragments, words }: Needles): boolean {
  if (words?.test(searched) || whole.some((needle) => searched.includes(needle))) return true;
  for (let at = 0; at + FRAGMENT_CHARACTERS <= searched.length; at++) {
    if (fragments.has(searched.slice(at, at + FRAGMENT_CHARACTERS))) return true;
  }
  return false;
}

/** Whether the text contains a secret verbatim, in any letter case. Ten times as fast as holdsSecret. */
export function holdsVerbatim(text: string, secrets: Secrets): boolean {
  const { parts, words } = needlesOf(secrets);
  const searched = text.toLowerCase();
  for (const part of parts) if (searched.includes(part)) return true;
  return words?.test(searched) === true || secrets.ofRequest?.some((part) => text.includes(part)) === true;
}

/** Whether the text contains a credential verbatim. */
export function holdsCredential(text: string, { credentials, ofRequest }: Secrets): boolean {
  // Called for every event of every stream: a loop takes a third of the time of `some`.
  for (const credential of credentials) if (text.includes(credential)) return true;
  if (ofRequest !== undefined) for (const credential of ofRequest) if (text.includes(credential)) return true;
  return false;
}

function needlesOf(secrets: Secrets): Needles {
  let needles = cache.get(secrets.parts);
  if (needles === undefined) {
    needles = needlesFor(secrets);
    cache.set(secrets.parts, needles);
  }
  return needles;
}

function needlesFor({ parts, words }: Pick<Secrets, 'parts' | 'words'>): Needles {
  const encodings = parts.flatMap(encodingsOf).map((encoding) => encoding.toLowerCase());
  const fragments = new Set<string>();
  for (const encoding of encodings) {
    for (let at = 0; at + FRAGMENT_CHARACTERS <= encoding.length; at++) {
      fragments.add(encoding.slice(at, at + FRAGMENT_CHARACTERS));
    }
  }
  return {
    whole: encodings.filter(({ length }) => length < FRAGMENT_CHARACTERS),
    fragments,
    parts: parts.map((part) => part.toLowerCase()),
    words: words.length === 0 ? undefined : new RegExp(words.map(wordPattern).join('|')),
  };
}

/** Returns a pattern for a whole word. A preceding `%2F` is not part of the word. */
function wordPattern(word: string): string {
  const text = word.toLowerCase();
  return `${/^\w/.test(text) ? '(?:(?<!\\w)|(?<=%[0-9a-f]{2}))' : ''}${text.replace(/\W/g, '\\$&')}${/\w$/.test(text) ? '(?!\\w)' : ''}`;
}

/** Returns the encodings in which hosts and proxies echo a value: verbatim, URL-encoded, JSON, hex and base64. */
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
 * Returns the base64 of these bytes within a longer text, with `offset` bytes before them in their group of three. Omits
 * characters that also depend on neighbouring bytes.
 */
function base64At(offset: number, bytes: Buffer, encoding: 'base64' | 'base64url'): string {
  const length = offset + bytes.length;
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString(encoding);
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor((length * 8) / 6));
}
