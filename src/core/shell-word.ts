/** Quotes text for a shell. Pure. */

/** Words that every shell reads literally without quotes: arguments such as `day=5.00` and `--host=a,b`. */
const PLAIN = /^(?:[\w@%+:,./-]+|\w+=[\w.]+|--[\w-]+=[\w@%+=:,./-]+)$/;

/** Quotes a text as one shell word, in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Quotes a text as one shell word if necessary. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : quoted(text);
}
