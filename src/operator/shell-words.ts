/** Commands of this program as they are typed in a shell. Pure. */
import { PROGRAM } from '../core/program.ts';
import { shellWord } from '../core/shell-word.ts';

/** A command of this program, for the installation that `config` names: the `--config` that this one was given. */
export function commandLine(words: readonly string[], config: string | undefined): string {
  const all = config === undefined ? words : ['-c', config, ...words];
  return [PROGRAM, ...all.map(shellWord)].join(' ');
}
