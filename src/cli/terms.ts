/** The options for the terms of a key, as `keys create` and `limits set` have them, and what they say. */
import { type Command, Option } from 'commander';
import { UserError } from '../core/errors.ts';
import { LIMIT_NAMES, readerOf, TERM_NAMES, TERMS, type TermName } from '../operator/terms.ts';
import { type KeyTerms, type LimitChanges, NO_TERMS } from '../state/keys.ts';
import { parseEach, parseWith } from './arguments.ts';

/** What the options of one command say, by term, each time that they are given. */
type Said = { readonly [Name in TermName]?: readonly unknown[] };

interface TermOption {
  readonly name: TermName;
  readonly option: Option;
}

/** Those of a command that creates a key, or that changes its limits. */
export function termOptions(use: 'create' | 'change'): readonly TermOption[] {
  const names = use === 'create' ? TERM_NAMES : LIMIT_NAMES;
  return names.map((name) => {
    const { option, takes, help, otherwise, none, isList, reader } = TERMS[name];
    const taken = takes[use];
    // What the help does not name is no value.
    const takesNone = taken.endsWith(`|${none}`);
    const read = (text: string) => (takesNone ? readerOf(name, Date.now()) : reader(Date.now()))(text);
    const made = new Option(`--${option} <${taken}>`, use === 'create' ? `${help} (default: ${otherwise})` : help);
    return { name, option: isList ? made.argParser(parseEach(read)) : made.argParser(parseWith(read)) };
  });
}

export function addOptions(command: Command, options: readonly TermOption[]): Command {
  for (const { option } of options) command.addOption(option);
  return command;
}

/** What was given to the options of a command. */
export function saidBy(command: Command, options: readonly TermOption[]): Said {
  const given = options.map(({ name, option }) => [name, command.getOptionValue(option.attributeName())] as const);
  const said = given.filter(([, value]) => value !== undefined);
  return Object.fromEntries(said.map(([name, value]) => [name, TERMS[name].isList ? value : [value]]));
}

/** The terms of a new key. Throws a UserError if there can be no such key. */
export function newTerms(said: Said): KeyTerms {
  return { ...NO_TERMS, ...Object.fromEntries(namesIn(said).map((name) => [name, after(name, NO_TERMS, said)])) };
}

/** What is to change of a key. */
export function limitChanges({ budgets, ...said }: Said): LimitChanges {
  const changes = Object.fromEntries(namesIn(said).map((name) => [name, after(name, NO_TERMS, said)]));
  if (budgets === undefined) return changes;
  // What is left of them depends on what there is.
  return { ...changes, budgets: (before) => after('budgets', { ...NO_TERMS, budgets: before }, { budgets }) };
}

function namesIn(said: Said): TermName[] {
  return Object.keys(said) as TermName[];
}

function after<Name extends TermName>(name: Name, before: KeyTerms, said: Said): KeyTerms[Name] {
  const reading = TERMS[name].after(before[name], said[name] ?? []);
  if (reading.ok) return reading.value;
  throw new UserError(reading.expected);
}
