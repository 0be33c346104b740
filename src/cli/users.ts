/** `users`: the end users of a key or a group, the limits of single ones, and who is blocked. */
import type { Command } from 'commander';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { formatUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { isEndUser, MAX_END_USER_BYTES } from '../core/spent-by.ts';
import { budgetsText } from '../operator/budgets.ts';
import { count } from '../operator/format.ts';
import { type Reader, readCount } from '../operator/input.ts';
import { amount, type Look, type Marked, marked, type Table } from '../operator/table.ts';
import { LEVEL_TERMS, levelJson, ownLimitsJson, TIER_NAMES } from '../operator/terms.ts';
import type { LevelTerms, Owner } from '../state/keys.ts';
import { hasNoLimits, NO_LEVEL_TERMS, termsOfUser, type UserRecord, userId } from '../state/levels.ts';
import { parseWith } from './arguments.ts';
import { LEVEL_COLUMNS } from './group-view.ts';
import { levelFields, limitTexts, monthField, NO_FIGURES } from './level-view.ts';
import { look, printFields, printJson, printLine, printNote, printTable } from './output.ts';
import { findOwner } from './owner.ts';
import { globalOptions, hint, type State, withState } from './state.ts';
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

const readUser: Reader<string> = (text) =>
  isEndUser(text)
    ? { ok: true, value: text }
    : { ok: false, expected: `Expected the name of an end user, of at most ${MAX_END_USER_BYTES} bytes.` };

const KEY_OPTION = ['--key <key>', 'whose end user it is: a key (id or name), or a group (@name)'] as const;

export function registerUsers(program: Command): void {
  const users = program.command('users').description('manage the end users of a key or a group');

  users
    .command('list', { isDefault: true })
    .description('list the end users that were seen or have limits of their own, by name')
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
        await printUser(await userOrThrow(owner, name, state), command, state);
      }),
    );

  registerSet(users);
  for (const [verb, userState, description] of [
    ['block', 'disabled', 'refuse the requests of an end user until they are unblocked'],
    ['unblock', 'enabled', 'take the requests of an end user again'],
  ] as const) {
    of(users, verb, description)
      .addHelpText('after', `\nExample:\n  inf-gw users ${verb} zoe --key my-app`)
      .action((name: string, options: OfKey, command: Command) =>
        withState(command, async (state) => {
          const owner = await findOwner(options.key, state);
          await change(owner, name, (before) => ({ ...before, state: userState }), state);
          if (globalOptions(command).json) return printUser(await userOf(owner, name, state), command, state);
          printLine(`${name} is ${stateText(userState)}.`);
        }),
      );
  }
}

function registerSet(users: Command): void {
  const options = new TermOptions<LevelTerms>(LEVEL_TERMS, 'change');
  const set = of(users, 'set', 'give an end user limits of their own, over those of all end users');
  options
    .addTo(set)
    .addHelpText(
      'after',
      '\nnone takes the own limit away, and that of all end users holds again.\n' +
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
        await printUser(await userOf(owner, name, state), command, state);
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

/** An end user with what is set for them, and what they have used. */
interface SeenUser {
  readonly owner: Owner;
  readonly name: string;
  readonly own: UserRecord | undefined;
}

async function userOf(owner: Owner, name: string, { groups }: State): Promise<SeenUser> {
  return { owner, name, own: await groups.findUser(owner.id, name) };
}

/** Throws a UserError for a name that was never seen nor set. */
async function userOrThrow(owner: Owner, name: string, state: State): Promise<SeenUser> {
  const user = await userOf(owner, name, state);
  if (user.own !== undefined || (await state.groups.wasSeen(owner.id, name))) return user;
  throw new UserError(
    `no such end user of ${owner.name}: ${JSON.stringify(name)}; list them with \`${PROGRAM} users list\``,
  );
}

async function list(owner: Owner, { limit, after }: ListOptions, command: Command, state: State): Promise<void> {
  const { json } = globalOptions(command);
  const most = limit ?? (json ? MAX_LISTED : TABLE_ROWS);
  const names = await state.groups.userNames(owner.id, after ?? '', most + 1);
  const shown = names.slice(0, most);
  const users = await Promise.all(shown.map((name) => userOf(owner, name, state)));
  const figures = await figuresOf(users, state);
  if (json) return printJson(figures.map(userJson));
  if (users.length === 0) return printLine(`No end users of ${owner.name} were seen.`);
  printTable(usersTable(figures, look()));
  printNote('Requests, tokens and cost are for this month (UTC).');
  const last = shown.at(-1);
  if (names.length === shown.length || last === undefined) return;
  const same = limit === undefined ? [] : ['--limit', String(limit)];
  printLine(`More: ${hint(command, 'users', 'list', '--key', owner.name, ...same, '--after', last)}`, 'dim');
}

type Figures = Awaited<ReturnType<typeof figuresOf>>[number];

async function figuresOf(users: readonly SeenUser[], state: State) {
  const levels = users.map(({ owner, name, own }) => {
    const terms = termsOfUser(owner.userLimits ?? NO_LEVEL_TERMS, own);
    return { id: userId(owner.id, name), terms, budgets: terms.budgets };
  });
  const ids = levels.map(({ id }) => id);
  const months = await state.levels.monthsOf(ids, utcMonth(state.nowMs));
  const spends = await state.levels.spentBy(levels, state.nowMs);
  return users.map((user, at) => {
    const { id, terms } = levels[at] as (typeof levels)[number];
    return { ...user, terms, spends: spends.get(id) ?? [], month: months.get(id) ?? NO_FIGURES };
  });
}

function userJson({ name, own, terms, spends, month }: Figures) {
  return {
    user: name,
    state: stateText(own?.state),
    ...levelJson(terms, spends),
    own: own === undefined || hasNoLimits(own) ? null : ownLimitsJson(own),
    month: { requests: month.requests, tokens: month.tokens, cost_usd: formatUsd(month.costNanos) },
  };
}

function stateText(state: UserRecord['state'] = 'enabled'): string {
  return state === 'disabled' ? 'blocked' : state;
}

function stateCell(own: UserRecord | undefined): Marked {
  return marked(stateText(own?.state), own?.state === 'disabled' ? 'warn' : 'good');
}

async function printUser(user: SeenUser, command: Command, state: State): Promise<void> {
  const [figures] = (await figuresOf([user], state)) as [Figures];
  if (globalOptions(command).json) return printJson(userJson(figures));
  const { name, own, terms, spends, month } = figures;
  printFields([
    ['end user', name],
    ['of', user.owner.name],
    ['state', stateCell(own)],
    ...levelFields(terms, spends),
    ['of their own', (own && limitTexts(own).join(', ')) || 'nothing'],
    monthField(month),
  ]);
}

function usersTable(users: readonly Figures[], look: Look): Table {
  return {
    columns: [{ head: 'END USER', least: 12 }, { head: 'STATE' }, ...LEVEL_COLUMNS],
    rows: users.map(({ name, own, terms, spends, month }) => [
      name,
      stateCell(own),
      ...TIER_NAMES.map((each) => (terms[each] === null ? '-' : count(terms[each]))),
      terms.spendLimitNanos === null ? '-' : amount(terms.spendLimitNanos, look),
      budgetsText(spends, (nanos) => amount(nanos, look)) || '-',
      count(month.requests),
      count(month.tokens),
      amount(month.costNanos, look),
    ]),
  };
}
