/** The options for the terms of keys, groups and end users. */
import { type Command, Option } from 'commander';
import { UserError } from '../core/errors.ts';
import { keywordOr, type Reader } from '../operator/input.ts';
import { type Term, type Terms, TIER_NAMES, USER_TERMS } from '../operator/terms.ts';
import type { BudgetEdit, LevelTerms, UserLimits, UserLimitsEdit } from '../state/keys.ts';
import { NO_USER_LIMITS } from '../state/levels.ts';
import { parseEach, parseWith } from './arguments.ts';
import type { ThoroughCommand } from './thorough-command.ts';

type Use = 'create' | 'change';

/** The given values of a command's options, by term and in their order. */
type Said<Values> = { readonly [Name in keyof Values]?: readonly unknown[] };

type Changes<Values> = Partial<Omit<Values, 'budgets'>> & { readonly budgets?: BudgetEdit };

/** The options of one command for the terms of one record. */
export class TermOptions<Values extends LevelTerms> {
  readonly #terms: Terms<Values>;
  readonly #options: readonly { readonly name: keyof Values; readonly option: Option }[];

  constructor(terms: Terms<Values>, use: Use, names = Object.keys(terms) as readonly (keyof Values)[]) {
    this.#terms = terms;
    this.#options = names.map((name) => ({ name, option: optionOf(terms[name], use) }));
  }

  /** The flags of the options: `--rpm`, `--tpm` and so on. */
  get flags(): readonly string[] {
    return this.#options.map(({ option }) => option.long as string);
  }

  addTo(command: Command): Command {
    for (const { option } of this.#options) command.addOption(option);
    return command;
  }

  /** The given values of a command's options. */
  saidBy(command: Command): Said<Values> {
    const given = this.#options.map(
      ({ name, option }) => [name, command.getOptionValue(option.attributeName())] as const,
    );
    const said = given.filter(([, value]) => value !== undefined);
    return Object.fromEntries(
      said.map(([name, value]) => [name, this.#terms[name].isList ? value : [value]]),
    ) as Said<Values>;
  }

  /** The terms after applying the given options to `before`. Throws a UserError if they are invalid together. */
  after(before: Values, said: Said<Values>): Values {
    return { ...before, ...this.only(before, said) };
  }

  /** As `after`, with the given terms only. */
  only(before: Values, said: Said<Values>): Partial<Values> {
    const names = Object.keys(said) as (keyof Values)[];
    return Object.fromEntries(names.map((name) => [name, this.#afterOf(name, before, said)])) as Partial<Values>;
  }

  /** The changes of a record. The change of its budgets depends on its present ones. */
  changes(said: Said<Values>, none: Values): Changes<Values> {
    const { budgets, ...others } = said as Said<Values> & Said<LevelTerms>;
    const changes = this.only(none, others as Said<Values>) as Partial<Omit<Values, 'budgets'>>;
    if (budgets === undefined) return changes;
    return { ...changes, budgets: (before) => this.#afterOf('budgets', { ...none, budgets: before }, said) };
  }

  #afterOf<Name extends keyof Values>(name: Name, before: Values, said: Said<Values>): Values[Name] {
    const reading = this.#terms[name].after(before[name], said[name] ?? []);
    if (reading.ok) return reading.value;
    throw new UserError(reading.expected);
  }
}

function optionOf<Value>(term: Term<Value>, use: Use): Option {
  const { option, takes, help, otherwise, isList, reader } = term;
  const taken = takes[use];
  // A word that the help does not list is not a value.
  const [, ...words] = taken.split('|');
  const read: Reader<unknown> = (text) => {
    const reading = words.reduce(
      (others, word) => keywordOr(word, others),
      reader(Date.now()) as Reader<unknown>,
    )(text);
    if (reading.ok || words.length === 0) return reading;
    return { ok: false, expected: reading.expected.replace(/\.$/, `, or ${words.join(' or ')}.`) };
  };
  const made = new Option(`--${option} <${taken}>`, use === 'create' ? `${help} (default: ${otherwise})` : help);
  return isList ? made.argParser(parseEach(read)) : made.argParser(parseWith(read));
}

/** The options for the limits of each end user of a key or a group. */
export class UserLimitOptions {
  readonly #limits: TermOptions<LevelTerms>;
  readonly #use: Use;

  constructor(use: Use) {
    this.#use = use;
    this.#limits = new TermOptions(USER_TERMS, use);
  }

  get flags(): readonly string[] {
    return [...this.#limits.flags, '--user-required'];
  }

  addTo(command: Command): Command {
    const help = 'refuse requests that do not name their end user';
    if (this.#use === 'create') return this.#limits.addTo(command).option('--user-required', help);
    const required = new Option('--user-required [off]', help).argParser(parseWith(readOff));
    return this.#limits.addTo(command).addOption(required);
  }

  /** The change of the limits; undefined without such options. */
  editBy(command: Command): UserLimitsEdit | undefined {
    const said = this.#limits.saidBy(command);
    const required: unknown = command.getOptionValue('userRequired');
    if (required === undefined && Object.keys(said).length === 0) return undefined;
    return (before) => {
      const { required: wasRequired, ...limits } = before ?? NO_USER_LIMITS;
      return {
        ...this.#limits.after(limits, said),
        required: required === undefined ? wasRequired : required !== 'off',
      };
    };
  }

  /** The limits for a new key or group; null without such options. */
  givenTo(command: Command): UserLimits | null {
    return this.editBy(command)?.(null) ?? null;
  }
}

const readOff: Reader<string> = (text) =>
  text === 'off' ? { ok: true, value: text } : { ok: false, expected: 'Expected off, or nothing after it.' };

/** Ends with a usage error if a word is for groups, which have no tier, and the target is a key, or vice versa. */
export function refuseWordsOf(kind: 'key' | 'group', command: ThoroughCommand): void {
  const faults: string[] = [];
  for (const name of TIER_NAMES) {
    const word: unknown = command.getOptionValue(name);
    if (kind === 'key' && word === 'none') {
      faults.push(
        `error: --${name} none: a key without a limit of its own has that of its tier; use --${name} default`,
      );
    }
    if (kind === 'group' && word === 'default') {
      faults.push(`error: --${name} default: a group has no tier; --${name} none takes its limit away`);
    }
  }
  if (kind === 'group' && command.getOptionValue('expires') !== undefined) {
    faults.push('error: --expires: a group does not expire; its keys do');
  }
  command.refuse(faults);
}
