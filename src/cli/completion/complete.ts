/** The words that can follow on a command line: the answer to the completion scripts. Silent, whatever happens. */
import { loadConfig } from '../../config/load.ts';
import { isPrintable } from '../../core/printable.ts';
import { keyNames } from '../../state/open.ts';
import { type CommandNode, HELP_OPTION, type OptionNode, type Value } from '../command-tree.ts';

/** In place of words: the shell completes the name of a file. */
const FILE = ':file';
/** Maximum number of key names. */
const MOST_NAMES = 10_000;
/** A database that does not answer must not keep the shell waiting. */
const PATIENCE_MS = 2_000;

interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/**
 * Prints the candidates for the last of these words, one per line, each with its description behind a tab. The words are those
 * behind the name of the program, without quotes, up to the cursor. Never rejects.
 */
export async function printCompletions(program: CommandNode, words: readonly string[]): Promise<void> {
  const timer = setTimeout(() => process.exit(), PATIENCE_MS);
  try {
    const found = await candidates(program, words.slice(0, -1), words.at(-1) ?? '');
    const lines = found
      .filter(({ word }) => isPrintable(word))
      .map(({ word, description = '' }) => `${word}\t${description}\n`);
    process.stdout.write(lines.join(''));
  } catch {
    // The command itself reports a faulty config or state.
  } finally {
    clearTimeout(timer);
  }
}

/** Where the words before the cursor lead. */
interface Place {
  readonly node: CommandNode;
  readonly options: readonly OptionNode[];
  /** The number of arguments before the cursor. */
  readonly position: number;
  /** The option whose value is at the cursor. */
  readonly awaiting: OptionNode | undefined;
  /** Behind `--`. */
  readonly hasEnded: boolean;
  readonly config: string | undefined;
}

function follow(program: CommandNode, words: readonly string[]): Place {
  const everywhere = [...program.options.filter(({ names }) => !names.includes('--version')), HELP_OPTION];
  let place: Place = {
    node: program,
    options: [...program.options, HELP_OPTION],
    position: 0,
    awaiting: undefined,
    hasEnded: false,
    config: undefined,
  };
  for (const word of words) {
    const { node, options, position, awaiting, hasEnded } = place;
    const command = node.commands.find(({ name }) => name === word);
    const [, name, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    if (awaiting !== undefined) place = { ...place, ...configIn(awaiting, word), awaiting: undefined };
    else if (hasEnded) place = { ...place, position: position + 1 };
    else if (word === '--') place = { ...place, hasEnded: true };
    else if (name !== undefined) place = { ...place, ...configIn(optionOf(options, name), value) };
    else if (word.startsWith('-')) place = { ...place, awaiting: optionOf(options, word) };
    else if (command === undefined) place = { ...place, position: position + 1 };
    else place = { ...place, node: command, options: [...command.options, ...everywhere], position: 0 };
  }
  return place;
}

/** An option of this name that takes a value. */
function optionOf(options: readonly OptionNode[], name: string): OptionNode | undefined {
  return options.find(({ names, value }) => value !== undefined && names.includes(name));
}

function configIn(option: OptionNode | undefined, config: string | undefined): Pick<Place, 'config'> | undefined {
  return option?.names.includes('--config') ? { config } : undefined;
}

async function candidates(
  program: CommandNode,
  before: readonly string[],
  current: string,
): Promise<readonly Candidate[]> {
  const { node, options, position, awaiting, hasEnded, config } = follow(program, before);
  const valuesOf = (value: Value | undefined) => candidatesOf(value, config);
  if (awaiting !== undefined) return valuesOf(awaiting.value);
  const [prefix] = /^--[^=]+=/.exec(current) ?? [];
  if (!hasEnded && prefix !== undefined) {
    const values = await valuesOf(optionOf(options, prefix.slice(0, -1))?.value);
    return values.map(({ word }) => ({ word: word === FILE ? FILE : prefix + word }));
  }
  // Short names save no typing.
  if (!hasEnded && current.startsWith('-')) {
    return options.flatMap(({ names, description }) =>
      names.filter((name) => name.startsWith('--')).map((word) => ({ word, description })),
    );
  }
  if (node.commands.length > 0) return node.commands.map(({ name, description }) => ({ word: name, description }));
  const argument = node.arguments[position] ?? node.arguments.findLast(({ isVariadic }) => isVariadic);
  return valuesOf(argument?.value);
}

async function candidatesOf(value: Value | undefined, path: string | undefined): Promise<readonly Candidate[]> {
  const config = () => loadConfig({ path, environment: process.env, directory: process.cwd() });
  switch (value?.kind) {
    case 'choice':
      return value.choices.map((word) => ({ word }));
    case 'file':
      return [{ word: FILE }];
    case 'key':
      return (await keyNames(config().state, MOST_NAMES)).map((word) => ({ word }));
    case 'group':
      return (await keyNames(config().state, MOST_NAMES))
        .filter((name) => name.startsWith('@'))
        .map((word) => ({ word }));
    case 'model':
      return config().providers.flatMap(({ name, models }) =>
        models.map((model) => ({ word: `${name}/${model.name}` })),
      );
    case 'text':
    case undefined:
      return [];
  }
}
