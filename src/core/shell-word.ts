/** Texts as words of a shell. Pure. */

/** What no shell takes for anything else: `day=5.00` is an argument where a command comes first. */
const PLAIN = /^(?:[\w@%+:,./-]+|\w+=[\w.]+)$/;

/** A text as one word of a shell, in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same, without quotes where it needs none. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : quoted(text);
}
