/** The commands as plain data, read from commander, for completion scripts and the man page. */
import type { Argument, Command, Option } from 'commander';

/** The kind of an option's or argument's value. */
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
  /** Whether it takes all following words. */
  readonly isVariadic: boolean;
}

export interface CommandNode {
  /** Without the name of the program: `keys create`; empty for the program itself. */
  readonly path: string;
  readonly name: string;
  readonly description: string;
  /** The options of the command, and of its default subcommand. */
  readonly options: readonly OptionNode[];
  readonly arguments: readonly ArgumentNode[];
  readonly commands: readonly CommandNode[];
  /** The text and examples below the lists of the help. */
  readonly more: string;
}

/** An option of every command, which commander does not list. */
export const HELP_OPTION: OptionNode = {
  flags: '-h, --help',
  names: ['-h', '--help'],
  description: 'display help for a command',
  value: undefined,
};

/** Values of placeholders with these names can be looked up. */
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

const defaults = new WeakMap<Command, Command>();

/** Adds the command that runs where no command of a group is named. */
export function defaultCommand(group: Command, name: string): Command {
  const command = group.command(name, { isDefault: true });
  defaults.set(group, command);
  return command;
}

/** The options of the default command of a group. */
export function optionsOfDefault(group: Command): readonly Option[] {
  return defaults.get(group)?.options ?? [];
}

/** A node with all its descendants. */
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

/** The words of a placeholder such as `<n|default>`. */
function typeOf(shown: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { kind: 'choice', choices };
  const [name = '', ...words] = (/<([^>.]+)/.exec(shown)?.[1] ?? '').split('|');
  if (words.length > 0) return { kind: 'choice', choices: words };
  return { kind: KINDS[name] ?? 'text' };
}

/** The text that a help prints below its lists. */
function moreOf(command: Command): string {
  const output = { ...command.configureOutput() };
  const pieces: string[] = [];
  command.configureOutput({ writeOut: (piece) => pieces.push(piece) }).outputHelp();
  command.configureOutput(output);
  return pieces.slice(1).join('').trim();
}
