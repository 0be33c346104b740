/** Commands of this program as they are typed in a shell. Pure. */
import { PROGRAM } from '../core/program.ts';

/** What no shell takes for anything else: `day=5.00` is an argument where a command comes first. */
const PLAIN = /^(?:[\w@%+:,./-]+|\w+=[\w.]+)$/;

/** A text as one word of a shell, in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A command of this program, for the installation that `config` names: the `--config` that this one was given. */
export function commandLine(words: readonly string[], config: string | undefined): string {
  const all = config === undefined ? words : ['-c', config, ...words];
  return [PROGRAM, ...all.map((word) => (PLAIN.test(word) ? word : quoted(word)))].join(' ');
}
