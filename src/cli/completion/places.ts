/** What can follow at each place of a command line, as all three scripts have it. */
import { allNodes, type CommandNode, HELP_OPTION, type Value } from '../command-tree.ts';

/**
 * What a script types in place of a command to look up keys and models: then the kind, and the config if one was
 * named. It is no command, so no help shows it.
 */
export const CANDIDATES = '__candidates';

export interface Described {
  readonly word: string;
  readonly description: string;
}

export interface Place {
  /** The commands that lead here: `keys create`. Empty at the start. */
  readonly path: string;
  readonly commands: readonly Described[];
  readonly options: readonly Described[];
  /** The values of options, by each name of the option. */
  readonly values: readonly { readonly option: string; readonly value: string }[];
  /** The values of arguments. The last ends in `*` if more of it can follow. */
  readonly arguments: readonly string[];
}

/** Options of the program are taken everywhere, except the one for its version. */
export function placesOf(program: CommandNode): Place[] {
  const everywhere = [...program.options.filter(({ names }) => !names.includes('--version')), HELP_OPTION];
  return allNodes(program).map((node) => {
    const options = node === program ? [...program.options, HELP_OPTION] : [...node.options, ...everywhere];
    return {
      path: node.path,
      commands: node.commands.map(({ name, description }) => ({ word: name, description })),
      // A short name saves nothing to who presses Tab.
      options: options.flatMap(({ names, description }) =>
        names.filter((name) => name.startsWith('--')).map((word) => ({ word, description })),
      ),
      values: options.flatMap(({ names, value }) =>
        value === undefined ? [] : names.map((option) => ({ option, value: valueText(value) })),
      ),
      arguments: node.arguments.map(({ value, isVariadic }) => valueText(value) + (isVariadic ? '*' : '')),
    };
  });
}

/** `key`, `group`, `model`, `file`, `text`, or `choice:` and words with commas between them. */
function valueText(value: Value): string {
  return value.kind === 'choice' ? `choice:${value.choices.join(',')}` : value.kind;
}
