/** `users`: the end users of a key or a group, limits of single end users, and blocking. */

import type { Command } from 'commander';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { cleanName, isEndUser, MAX_END_USER_BYTES } from '../core/spent-by.ts';
import { type Reader, readCount } from '../operator/input.ts';
import { monthJson } from '../operator/key-json.ts';
import { type EndUser, endUserPage, endUsers } from '../operator/level-figures.ts';
import { type FiguresOfName, monthToShow, namedThisMonth, wasNamed } from '../operator/named-users.ts';
import { levelWord } from '../operator/spending.ts';
import { type Look, type Marked, marked, type Table } from '../operator/table.ts';
import { LEVEL_TERMS, levelJson, limitTexts, ownLimitsJson } from '../operator/terms.ts';
import type { LevelTerms, Owner } from '../state/keys.ts';
import { hasNoLimits, type UserRecord } from '../state/levels.ts';
import type { MonthFigures } from '../state/usage.ts';
import { parseWith } from './arguments.ts';
import { defaultCommand } from './command-tree.ts';
import { namesGroup } from './group-view.ts';
import { LEVEL_COLUMNS, levelCells, levelFields, monthField } from './level-view.ts';
import { look, money, printFields, printJson, printLine, printNote, printTable, printText } from './output.ts';
import { findOwner } from './owner.ts';
import { globalOptions, type State, withState } from './state.ts';
import { TermOptions } from './terms.ts';

const TABLE_ROWS = 200;
const MAX_LISTED = 1_000_000;

interface OfKey {
  readonly key: string;
}

interface ListOptions extends OfKey {
  readonly limit?: number;
  readonly after?: string;
}

/** Reads the name of an end user. */
export const readUser: Reader<string> = (text) =>
  isEndUser(text)
    ? { ok: true, value: text }
    : { ok: false, expected: `Expected the name of an end user, of at most ${MAX_END_USER_BYTES} bytes.` };

/** Reads a name of an end user, tag or app in the form in which reports and requests record it. */
export const readReportedName: Reader<string> = (text) => {
  const reading = readUser(text);
  return reading.ok ? { ok: true, value: cleanName(reading.value) } : reading;
};

const KEY_OPTION = ['--key <key>', 'the key (id or name) or the group (@name) whose end users these are'] as const;

export function registerUsers(program: Command): void {
  const users = program.command('users').description('manage the end users of a key or a group');

  defaultCommand(users, 'list')
    .description('list, by name, the end users seen so far or with limits of their own')
    .requiredOption(...KEY_OPTION)
    .option(
      '--limit <n>',
      `at most this many (default: ${TABLE_ROWS}; all with --json)`,
      parseWith(readCount(MAX_LISTED)),
    )
    .option('--after <name>', 'only those whose names come after this one')
    .addHelpText('after', '\nExamples:\n  inf-gw users list --key my-app\n  inf-gw users list --key @free --after zoe')
    .action((options: ListOptions, command: Command) =>
      withState(command, async (state) => list(await findOwner(options.key, state), options, command, state)),
    );

  of(users, 'show', 'show an end user')
    .addHelpText('after', '\nExample:\n  inf-gw users show zoe --key my-app')
    .action((name: string, options: OfKey, command: Command) =>
      withState(command, async (state) => {
        const owner = await findOwner(options.key, state);
        await printUser(await userOrThrow(owner, name, state), command);
      }),
    );

  registerSet(users);
  for (const [verb, userState, description] of [
    ['block', 'disabled', 'refuse the requests of an end user until they are unblocked'],
    ['unblock', 'enabled', 'accept the requests of an end user again'],
  ] as const) {
    of(users, verb, description)
      .addHelpText('after', `\nExample:\n  inf-gw users ${verb} zoe --key my-app`)
      .action((name: string, options: OfKey, command: Command) =>
        withState(command, async (state) => {
          const owner = await findOwner(options.key, state);
          await change(owner, name, (before) => ({ ...before, state: userState }), state);
          if (globalOptions(command).json) return printUser(await userOf(owner, name, state), command);
          printLine(`${name} is ${stateText(userState)}.`);
        }),
      );
  }
}

function registerSet(users: Command): void {
  const options = new TermOptions<LevelTerms>(LEVEL_TERMS, 'change');
  const set = of(users, 'set', 'give an end user limits of their own, in place of those for all end users');
  options
    .addTo(set)
    .addHelpText(
      'after',
      '\nnone removes a limit of their own; the one for all end users holds again.\n' +
        '\nExamples:\n  inf-gw users set zoe --key my-app --rpm 60 --budget day=5\n  inf-gw users set zoe --key my-app --budget none',
    )
    .action((name: string, { key }: OfKey, command: Command) => {
      const said = options.saidBy(command);
      if (Object.keys(said).length === 0) {
        command.error(`error: give at least one of ${options.flags.join(', ')}`);
      }
      return withState(command, async (state) => {
        const owner = await findOwner(key, state);
        await change(owner, name, (before) => ({ ...before, ...options.after(before, said) }), state);
        await printUser(await userOf(owner, name, state), command);
      });
    });
}

/** A command about one end user. */
function of(users: Command, verb: string, description: string): Command {
  return users
    .command(verb)
    .description(description)
    .argument('<name>', 'as requests name them, byte for byte', parseWith(readUser))
    .requiredOption(...KEY_OPTION);
}

async function change(
  owner: Owner,
  name: string,
  edit: (before: UserRecord) => UserRecord,
  { groups, nowMs }: State,
): Promise<void> {
  await groups.editUser(owner.id, name, edit, nowMs);
}

/** An end user with the figures to show. */
interface ShownUser extends Omit<EndUser, 'month'> {
  /** Undefined if it is unknown. */
  readonly month: MonthFigures | undefined;
}

async function userOf(owner: Owner, name: string, state: State): Promise<ShownUser> {
  const [user] = await endUsers(owner, [name], state);
  return shown(user as EndUser, await namedThisMonth(owner, state.usage, state.nowMs));
}

function shown(user: EndUser, figuresOf: FiguresOfName | undefined): ShownUser {
  return { ...user, month: monthToShow(user.owner, user.month, figuresOf?.(user.name)) };
}

/** Throws a UserError for a name that was never seen or set. */
async function userOrThrow(owner: Owner, name: string, state: State): Promise<ShownUser> {
  const user = await userOf(owner, name, state);
  if (user.own !== undefined || (await state.groups.wasSeen(owner.id, name))) return user;
  if (await wasNamed(owner, state.usage, name)) return user;
  throw new UserError(
    `no such end user of ${levelWord(owner)}: ${JSON.stringify(name)}; list them with \`${program('users', 'list', '--key', levelWord(owner))}\``,
  );
}

async function list(owner: Owner, { limit, after }: ListOptions, command: Command, state: State): Promise<void> {
  const { json } = globalOptions(command);
  const most = limit ?? (json ? MAX_LISTED : TABLE_ROWS);
  const { users: found, hasMore } = await endUserPage(owner, after ?? '', most, state);
  // For a group, the usage by name would have to be read from the journal.
  const figuresOf = namesGroup(levelWord(owner)) ? undefined : await namedThisMonth(owner, state.usage, state.nowMs);
  const users = found.map((user) => shown(user, figuresOf));
  if (json) return printJson(users.map(userJson));
  if (users.length === 0) return printNone(owner);
  printTable(usersTable(users, look()));
  printNote('Requests, tokens and cost are for this month (UTC).');
  const last = users.at(-1);
  if (!hasMore || last === undefined) return;
  const same = limit === undefined ? [] : ['--limit', String(limit)];
  printLine(`More: ${program('users', 'list', '--key', levelWord(owner), ...same, '--after', last.name)}`, 'dim');
}

/** End users are counted only where limits are set for them. */
function printNone(owner: Owner): void {
  const word = levelWord(owner);
  if (owner.userLimits !== null) return printText(`No end users of ${word} were seen.`);
  printText(`${notCounted(word)}.`);
  if (namesGroup(word)) return;
  printLine(`Its end users in reports: ${program('usage', '--by', 'user', '--key', word)}`);
}

function notCounted(word: string): string {
  return `${word} counts no end users, since it sets no limits for them`;
}

function userJson({ name, own, terms, spends, month }: ShownUser) {
  return {
    user: name,
    state: stateText(own?.state),
    ...levelJson(terms, spends),
    own: own === undefined || hasNoLimits(own) ? null : ownLimitsJson(own),
    month: month === undefined ? null : monthJson(month),
  };
}

function stateText(state: UserRecord['state'] = 'enabled'): string {
  return state === 'disabled' ? 'blocked' : state;
}

function stateCell(own: UserRecord | undefined): Marked {
  return marked(stateText(own?.state), own?.state === 'disabled' ? 'warn' : 'good');
}

function printUser(user: ShownUser, command: Command): void {
  if (globalOptions(command).json) return printJson(userJson(user));
  const { name, own, terms, spends, month } = user;
  const word = levelWord(user.owner);
  printFields([
    ['end user', name],
    ['of', word],
    ['state', stateCell(own)],
    ...levelFields(terms, spends, Date.now(), look()),
    ['of their own', (own && limitTexts(own, money).join(', ')) || 'nothing'],
    month === undefined ? ['this month (UTC)', `not known: ${notCounted(word)}`] : monthField(month),
  ]);
}

function usersTable(users: readonly ShownUser[], look: Look): Table {
  return {
    columns: [{ head: 'END USER', least: 12 }, { head: 'STATE' }, ...LEVEL_COLUMNS],
    rows: users.map(({ name, own, terms, spends, month }) => [
      name,
      stateCell(own),
      ...levelCells(terms, spends, month, look),
    ]),
  };
}
