/** Texts as words of a shell. Pure. */

/** Words without quotes that every shell reads as they are: `day=5.00` and `--host=a,b` behind a command. */
const PLAIN = /^(?:[\w@%+:,./-]+|\w+=[\w.]+|--[\w-]+=[\w@%+=:,./-]+)$/;

/** A text as one word of a shell, in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The same, without quotes where it needs none. */
export function shellWord(text: string): string {
  return PLAIN.test(text) ? text : quoted(text);
}
