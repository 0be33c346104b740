/** The commands as plain data, read from commander: what completion scripts and the man page are made of. */
import type { EventEmitter } from 'node:events';
import type { Argument, Command, Option } from 'commander';

/** What the value of an option or an argument is. */
export type Value =
  | { readonly kind: 'key' | 'group' | 'model' | 'file' | 'text' }
  | { readonly kind: 'choice'; readonly choices: readonly string[] };

export interface OptionNode {
  /** As the help shows it: `-c, --config <file>`. */
  readonly flags: string;
  /** `-c` and `--config`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined for an option without a value. */
  readonly value: Value | undefined;
}

export interface ArgumentNode {
  /** As the help shows it: `<model...>`. */
  readonly shown: string;
  readonly description: string;
  readonly value: Value;
  /** Whether it takes all words that follow. */
  readonly isVariadic: boolean;
}

export interface CommandNode {
  /** Without the name of the program: `keys create`; empty for the program itself. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** Its own options. If a command of its own is the default, also those of that command. */
  readonly options: readonly OptionNode[];
  readonly arguments: readonly ArgumentNode[];
  readonly commands: readonly CommandNode[];
  /** What the help has below its lists: further text, and examples. */
  readonly more: string;
}

/** Every command takes it, and commander lists it nowhere. */
export const HELP_OPTION: OptionNode = {
  flags: '-h, --help',
  names: ['-h', '--help'],
  description: 'display help for a command',
  value: undefined,
};

/** Where a placeholder has one of these names, values can be looked up. */
const KINDS: Readonly<Record<string, 'key' | 'group' | 'model' | 'file'>> = {
  key: 'key',
  group: 'group',
  model: 'model',
  file: 'file',
  state: 'file',
};

export function commandTree(command: Command, parents: readonly string[] = []): CommandNode {
  const path = command.parent === null ? [] : [...parents, command.name()];
  return {
    path: path.join(' '),
    name: command.name(),
    description: command.description(),
    options: [...command.options, ...optionsOfDefault(command)].map(optionNode),
    arguments: command.registeredArguments.map(argumentNode),
    commands: command.commands.map((each) => commandTree(each, path)),
    more: moreOf(command),
  };
}

/** What a group takes where no command of it is named: the options of its default. */
export function optionsOfDefault(group: Command): readonly Option[] {
  const { _defaultCommandName: name } = group as Command & { _defaultCommandName?: string };
  return group.commands.find((each) => each.name() === name)?.options ?? [];
}

/** A node and all below it. */
export function allNodes(node: CommandNode): CommandNode[] {
  return [node, ...node.commands.flatMap(allNodes)];
}

function optionNode({ flags, short, long, description, required, argChoices }: Option): OptionNode {
  return {
    flags,
    names: [short, long].filter((name) => name !== undefined),
    description,
    value: required ? typeOf(flags, argChoices) : undefined,
  };
}

function argumentNode(argument: Argument): ArgumentNode {
  const { description, variadic: isVariadic, argChoices } = argument;
  const shown = `<${argument.name()}${isVariadic ? '...' : ''}>`;
  return { shown, description, isVariadic, value: typeOf(shown, argChoices) };
}

/** A placeholder such as `<n|default>` has words that can be chosen. */
function typeOf(shown: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { kind: 'choice', choices };
  const [name = '', ...words] = (/<([^>.]+)/.exec(shown)?.[1] ?? '').split('|');
  if (words.length > 0) return { kind: 'choice', choices: words };
  return { kind: KINDS[name] ?? 'text' };
}

/** Commander keeps this text as a listener of its own help, and prints it alone if asked for nothing else. */
function moreOf(command: Command): string {
  let text = '';
  (command as unknown as EventEmitter).emit('afterHelp', {
    error: false,
    command,
    write: (piece: string) => (text += piece),
  });
  return text.trim();
}
