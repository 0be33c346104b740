/** `keys`: creates, lists, shows, enables, disables, deletes and rotates keys. */

import { type Command, Option } from 'commander';
import { mintKey } from '../core/api-key.ts';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { count } from '../operator/format.ts';
import { readCount, readKeyName } from '../operator/input.ts';
import { deletedWith } from '../operator/messages.ts';
import { levelWord } from '../operator/spending.ts';
import { TERMS } from '../operator/terms.ts';
import { groupsInside } from '../operator/tree.ts';
import { isGone, type KeyRecord, type KeyState, type KeyTerms, type NewKey, NO_TERMS } from '../state/keys.ts';
import { parseWith } from './arguments.ts';
import { defaultCommand } from './command-tree.ts';
import { isConfirmed } from './confirm.ts';
import { changedGroup, findGroup, nameIn, namesGroup, printGroup } from './group-view.ts';
import {
  changedKey,
  findKey,
  KEY_ORDERS,
  type KeyOrder,
  keyJson,
  keysJson,
  newKeyJson,
  printBesideKey,
  printKey,
  printKeys,
  printRefusals,
  printSecret,
  refusalJson,
  sortedKeys,
  warnOfUnknownModels,
} from './key-view.ts';
import { printJson, printLine, printNote } from './output.ts';
import { groupOf, KEY_OR_GROUP, moreTime, noteRefused, ownerJson } from './owner.ts';
import { globalOptions, type State, withState } from './state.ts';
import { TermOptions, UserLimitOptions } from './terms.ts';

/** The number of keys in a table without --limit. */
const TABLE_ROWS = 200;
const MAX_LISTED = 1_000_000;

interface ListOptions {
  readonly all?: boolean;
  readonly limit?: number;
  readonly after?: string;
  readonly sort?: KeyOrder;
  readonly group?: string;
}

interface CreateOptions {
  readonly in?: string;
  readonly mayCreate?: boolean;
}

export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys');
  registerCreate(keys);
  registerViews(keys);
  registerChanges(keys);
}

function registerCreate(keys: Command): void {
  const options = new TermOptions<KeyTerms>(TERMS, 'create');
  const users = new UserLimitOptions('create');
  const creation = keys
    .command('create')
    .description('create a key and print it; it is shown only once')
    .argument('<name>', 'a name, such as that of the app that uses it', parseWith(readKeyName));
  users
    .addTo(options.addTo(creation))
    .option('--in <group>', 'put it in this group (@name)')
    .option('--may-create', 'let it create child keys: POST /v1/keys')
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys create my-app\n  inf-gw keys create trial --rpm 60 --spend-limit 5 --allow openai/gpt-4o-mini\n' +
        '  inf-gw keys create contractor --budget day=5 --budget total=100 --expires 30d\n' +
        '  inf-gw keys create chat --in @research --user-budget day=1\n  KEY=$(inf-gw keys create ci)',
    )
    .action((name: string, { in: group, mayCreate = false }: CreateOptions, command: Command) => {
      const terms = options.after(NO_TERMS, options.saidBy(command));
      const userLimits = users.givenTo(command);
      const work = async (state: State) => {
        const groupId = (await groupOf(group, state))?.id ?? null;
        await create(name, { ...terms, userLimits, groupId, mayCreate }, command, state);
      };
      return withState(command, work, { creates: true });
    });
}

function registerViews(keys: Command): void {
  defaultCommand(keys, 'list')
    .description('list keys, with their limits and this month’s usage')
    .option('--all', 'include deleted keys')
    .option(
      '--limit <n>',
      `at most this many (default: ${TABLE_ROWS}; all with --json)`,
      parseWith(readCount(MAX_LISTED)),
    )
    .option('--after <key>', 'only keys created after this one (id or name)')
    .option('--group <group>', 'only those in this group (@name), or in a group inside it')
    .addOption(
      new Option(
        '--sort <column>',
        'sort by name, by a figure of this month, or by the share of a limit that is spent (default: oldest first)',
      ).choices(KEY_ORDERS),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys list\n  inf-gw keys list --sort cost --limit 10\n  inf-gw keys list --limit 50 --after my-app\n  inf-gw keys list --all --json',
    )
    .action((options: ListOptions, command: Command) => withState(command, (state) => list(options, command, state)));

  keys
    .command('show')
    .description('show a key or a group')
    .argument('<key>', KEY_OR_GROUP)
    .option('--refusals', 'show only how often it was refused this month, and why; for keys, not groups')
    .addHelpText('after', '\nExamples:\n  inf-gw keys show my-app\n  inf-gw keys show my-app --refusals --json')
    .action((key: string, options: { refusals?: true }, command: Command) =>
      withState(command, async (state) =>
        namesGroup(key) && !options.refusals
          ? printGroup(await findGroup(key, state), command, state)
          : show(await findKey(key, state), options, command, state),
      ),
    );
}

function registerChanges(keys: Command): void {
  for (const [verb, keyState, description] of [
    ['enable', 'enabled', 'enable a key that was disabled'],
    ['disable', 'disabled', 'refuse a key until it is enabled again'],
  ] as const) {
    keys
      .command(verb)
      .description(description)
      .argument('<key>', KEY_OR_GROUP)
      .addHelpText('after', `\nExamples:\n  inf-gw keys ${verb} my-app\n  inf-gw keys ${verb} @research`)
      .action((key: string, _: unknown, command: Command) =>
        withState(command, (state) =>
          namesGroup(key) ? setGroupState(key, keyState, command, state) : setState(key, keyState, command, state),
        ),
      );
  }

  keys
    .command('move')
    .description('move a key or a group into a group; past spending stays where it was booked')
    .argument('<key>', KEY_OR_GROUP)
    .requiredOption('--to <group>', 'the group (@name); none takes it out of every group')
    .addHelpText('after', '\nExamples:\n  inf-gw keys move my-app --to @research\n  inf-gw keys move @nlp --to none')
    .action((key: string, { to }: { to: string }, command: Command) =>
      withState(command, (state) => move(key, to, command, state)),
    );

  keys
    .command('delete')
    .description('delete a key permanently; its usage is kept')
    .argument('<key>', 'id or name')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExamples:\n  inf-gw keys delete my-app\n  inf-gw keys delete my-app --yes')
    .action(remove);

  keys
    .command('rotate')
    .description('create a replacement with the same settings; the old key works until you disable it')
    .argument('<key>', 'id or name')
    .addHelpText(
      'after',
      '\nExample:\n  inf-gw keys rotate my-app     creates my-app-2; move your app to it, then:\n  inf-gw keys disable my-app',
    )
    .action((key: string, _: unknown, command: Command) => withState(command, (state) => rotate(key, command, state)));
}

async function create(name: string, terms: NewTerms, command: Command, state: State): Promise<void> {
  const { record, secret } = await createKey(name, terms, state);
  warnOfUnknownModels(record.allowlist ?? [], state);
  await printNewKey(record, secret, command, state);
}

/** The settings of a new key, without its name. */
type NewTerms = Partial<Omit<NewKey, 'name'>>;

/** Creates a key. Unset limits follow the tier. Throws a UserError if the name is taken. */
export async function createKey(
  name: string,
  terms: NewTerms,
  state: State,
): Promise<{ record: KeyRecord; secret: string }> {
  const secret = mintKey();
  const change = await state.keys.create(secret, { ...terms, name }, state.nowMs);
  return { record: await changedKey(change, name, state), secret };
}

async function list(
  { all = false, limit, after, sort, group }: ListOptions,
  command: Command,
  state: State,
): Promise<void> {
  const previous = after === undefined ? undefined : await findKey(after, state, { withDeleted: true });
  const afterId = previous?.id;
  const { json } = globalOptions(command);
  const most = limit ?? (json ? undefined : TABLE_ROWS);
  const groupIds = await groupIdsOf(group, state);
  const query = { withDeleted: all, groupIds };
  const found = await state.keys.list({ ...query, afterId, limit: sort === undefined ? most : undefined });
  const records = sort === undefined ? found : (await sortedKeys(found, sort, state)).slice(0, most);
  if (json) return printJson(await keysJson(records, state));
  if (records.length === 0) {
    if (group !== undefined) return printLine(`No keys in ${nameIn(group)}.`);
    return printLine(
      previous === undefined
        ? `No keys yet. Create one with: ${program('keys', 'create', 'my-app')}`
        : `No keys after ${previous.name}.`,
    );
  }
  await printKeys(records, state);
  if (sort !== undefined && records.length < found.length) {
    return printNote(`These are ${count(records.length)} of ${count(found.length)} keys; --limit shows more.`);
  }
  if (sort !== undefined || records.length !== most) return;
  const last = records.at(-1) as KeyRecord;
  const next = await state.keys.list({ ...query, afterId: last.id, limit: 1 });
  if (next.length > 0) {
    const sameGroup = group === undefined ? [] : ['--group', group];
    const sameOptions = [
      ...(all ? ['--all'] : []),
      ...sameGroup,
      ...(limit === undefined ? [] : ['--limit', String(limit)]),
    ];
    printLine(`More keys: ${program('keys', 'list', ...sameOptions, '--after', last.id)}`, 'dim');
  }
}

/** The ids of a group and of all groups inside it. */
async function groupIdsOf(word: string | undefined, state: State): Promise<readonly string[] | undefined> {
  const group = await groupOf(word, state);
  return group && [...groupsInside(await state.groups.list(), group.id)];
}

async function show(record: KeyRecord, options: { refusals?: true }, command: Command, state: State): Promise<void> {
  const refusals = await state.usage.refusalsOf(record.id, utcMonth(state.nowMs));
  if (globalOptions(command).json) {
    return printJson(options.refusals ? refusals.map(refusalJson) : await keyJson(record, state));
  }
  if (!options.refusals) {
    await printKey(record, state);
    printLine();
  }
  printRefusals(refusals);
}

async function setState(key: string, keyState: KeyState, command: Command, state: State): Promise<void> {
  const record = await changedKey(await state.keys.setState(key, keyState), key, state);
  if (globalOptions(command).json) printJson(await keyJson(record, state));
  else printLine(`${record.name} is ${keyState}.`);
  if (keyState === 'enabled') await noteRefused(record, state);
}

async function setGroupState(word: string, state: KeyState, command: Command, open: State): Promise<void> {
  const group = await changedGroup(await open.groups.setState(nameIn(word), state), word, open);
  if (globalOptions(command).json) await printGroup(group, command, open);
  else printLine(`${levelWord(group)} is ${state}${state === 'disabled' ? ', and with it all its keys' : ''}.`);
  if (state === 'enabled') await noteRefused(group, open);
}

async function move(word: string, to: string, command: Command, state: State): Promise<void> {
  const group = to === 'none' ? undefined : await findGroup(to, state);
  const into = group?.id ?? null;
  const moved = namesGroup(word)
    ? await changedGroup(await state.groups.place(nameIn(word), into), word, state)
    : await changedKey(await state.keys.place(word, into), word, state);
  if (globalOptions(command).json) printJson(await ownerJson(moved, state));
  else printLine(group === undefined ? `${moved.name} is in no group.` : `${moved.name} is in ${group.name}.`);
  if (moved.state === 'enabled') await noteRefused(moved, state);
}

async function remove(key: string, options: { yes?: true }, command: Command): Promise<void> {
  const [{ id, name, state: keyState }, made] = await withState(command, async (state) => {
    const found = await findKey(key, state);
    return [found, await state.keys.list({ withDeleted: false, parentId: found.id })];
  });
  if (keyState === 'deleted') throw new UserError(`key ${name} is already deleted`);
  if (!options.yes && !(await isConfirmed(`Delete key ${name} permanently? ${deletedWith(made.length)}(y/N) `))) {
    throw new UserError('nothing was deleted; to delete, answer y or use --yes');
  }
  // By id: the name may have been given to another key since the confirmation.
  await withState(command, (state) => setState(id, 'deleted', command, state));
}

async function rotate(key: string, command: Command, state: State): Promise<void> {
  const secret = mintKey();
  const old = await findKey(key, state);
  const { id, name } = old;
  // A successor would have the same expiry.
  if (old.state !== 'deleted' && isGone(old, state.nowMs)) {
    throw new UserError(`key ${name} has expired; give it more time first: ${moreTime(name)}`);
  }
  const record = await changedKey(await state.keys.rotate(id, secret, state.nowMs), key, state);
  const note =
    old.state === 'enabled'
      ? `The old key is still enabled. Once your app uses the new one, run: ${program('keys', 'disable', name)}`
      : 'The old key stays disabled.';
  await printNewKey(record, secret, command, state, note);
}

async function printNewKey(
  record: KeyRecord,
  secret: string,
  command: Command,
  state: State,
  note?: string,
): Promise<void> {
  if (globalOptions(command).json) {
    printJson(await newKeyJson(record, secret, state));
  } else {
    printSecret(secret);
    await printBesideKey(record, state, note);
  }
  await noteRefused(record, state);
}
