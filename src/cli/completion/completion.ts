/** `completion`: prints a script that completes commands, options, keys and models in a shell. */
import { Argument, type Command } from 'commander';
import { commandTree } from '../command-tree.ts';
import { printJson } from '../output.ts';
import { globalOptions } from '../state.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { placesOf } from './places.ts';
import { zshScript } from './zsh.ts';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof SCRIPTS;

export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options, keys and models in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Write it to the file where your shell looks for it, and open a new shell. Write it again after an
update of inf-gw: commands and options are in the script; keys and models are looked up.

Examples:
  inf-gw completion bash > ~/.local/share/bash-completion/completions/inf-gw
  inf-gw completion zsh > ~/.zfunc/_inf-gw   (fpath+=(~/.zfunc) before compinit)
  inf-gw completion fish > ~/.config/fish/completions/inf-gw.fish
  source <(inf-gw completion bash)            also without bash-completion`,
    )
    .action((shell: Shell, _: unknown, command: Command) => {
      const places = placesOf(commandTree(command.parent as Command));
      const script = SCRIPTS[shell](places);
      if (globalOptions(command).json) printJson({ shell, script });
      else process.stdout.write(script);
    });
}
