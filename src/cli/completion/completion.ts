/** `completion`: prints a script that completes commands, options, keys and models in a shell. */
import { Argument, type Command } from 'commander';
import { printJson } from '../output.ts';
import { globalOptions } from '../state.ts';
import { SCRIPTS } from './scripts.ts';

type Shell = keyof typeof SCRIPTS;

export function registerCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options, keys and models in your shell')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      `
Write it to the file where your shell looks for it, and open a new shell. The script asks inf-gw
itself for commands, options, keys and models.

Examples:
  inf-gw completion bash > ~/.local/share/bash-completion/completions/inf-gw
  inf-gw completion zsh > ~/.zfunc/_inf-gw   (fpath+=(~/.zfunc) before compinit)
  inf-gw completion fish > ~/.config/fish/completions/inf-gw.fish
  source <(inf-gw completion bash)            also without bash-completion`,
    )
    .action((shell: Shell, _: unknown, command: Command) => {
      const script = SCRIPTS[shell];
      if (globalOptions(command).json) printJson({ shell, script });
      else process.stdout.write(script);
    });
}
