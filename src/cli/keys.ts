/** `keys`: creates, lists, shows, enables, disables, deletes and rotates keys. */

import { type Command, Option } from 'commander';
import { mintKey } from '../core/api-key.ts';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import { count } from '../operator/format.ts';
import { readCount, readKeyName } from '../operator/input.ts';
import { isGone, type KeyRecord, type KeyState, type KeyTerms, type NewKey, NO_TERMS } from '../state/keys.ts';
import { parseWith } from './arguments.ts';
import { isConfirmed } from './confirm.ts';
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
import { notice, printJson, printLine, printNote } from './output.ts';
import { globalOptions, hint, type State, withState } from './state.ts';
import { addOptions, newTerms, saidBy, termOptions } from './terms.ts';

/** How many keys a table shows without --limit. */
const TABLE_ROWS = 200;
const MAX_LISTED = 1_000_000;

interface ListOptions {
  readonly all?: boolean;
  readonly limit?: number;
  readonly after?: string;
  readonly sort?: KeyOrder;
}

export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('manage API keys');
  registerCreate(keys);
  registerViews(keys);
  registerChanges(keys);
}

function registerCreate(keys: Command): void {
  const options = termOptions('create');
  const creation = keys
    .command('create')
    .description('create a key and print it; it is shown only once')
    .argument('<name>', 'a name, such as that of the app that uses it', parseWith(readKeyName));
  addOptions(creation, options)
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys create my-app\n  inf-gw keys create trial --rpm 60 --spend-limit 5 --allow openai/gpt-4o-mini\n' +
        '  inf-gw keys create contractor --budget day=5 --budget total=100 --expires 30d\n' +
        '  KEY=$(inf-gw keys create ci)',
    )
    .action((name: string, _: unknown, command: Command) =>
      withState(command, (state) => create(name, newTerms(saidBy(command, options)), command, state), {
        creates: true,
      }),
    );
}

function registerViews(keys: Command): void {
  keys
    .command('list', { isDefault: true })
    .description('list keys, with their limits and this month’s usage')
    .option('--all', 'include deleted keys')
    .option(
      '--limit <n>',
      `at most this many (default: ${TABLE_ROWS}; all with --json)`,
      parseWith(readCount(MAX_LISTED)),
    )
    .option('--after <key>', 'only keys created after this one (id or name)')
    .addOption(
      new Option(
        '--sort <column>',
        'by name, by a figure of this month, or by what is spent of a limit (default: as created)',
      ).choices(KEY_ORDERS),
    )
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys list\n  inf-gw keys list --sort cost --limit 10\n  inf-gw keys list --limit 50 --after my-app\n  inf-gw keys list --all --json',
    )
    .action((options: ListOptions, command: Command) => withState(command, (state) => list(options, command, state)));

  keys
    .command('show')
    .description('show a key')
    .argument('<key>', 'id or name')
    .option('--refusals', 'show only how often it was refused this month, and why')
    .addHelpText('after', '\nExamples:\n  inf-gw keys show my-app\n  inf-gw keys show my-app --refusals --json')
    .action((key: string, options: { refusals?: true }, command: Command) =>
      withState(command, async (state) => show(await findKey(key, state), options, command, state)),
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
      .argument('<key>', 'id or name')
      .addHelpText('after', `\nExample:\n  inf-gw keys ${verb} my-app`)
      .action((key: string, _: unknown, command: Command) =>
        withState(command, (state) => setState(key, keyState, command, state)),
      );
  }

  keys
    .command('delete')
    .description('delete a key permanently; its usage is kept')
    .argument('<key>', 'id or name')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText('after', '\nExamples:\n  inf-gw keys delete my-app\n  inf-gw keys delete my-app --yes')
    .action(remove);

  keys
    .command('rotate')
    .description('create a successor with the same settings; the old key works until you disable it')
    .argument('<key>', 'id or name')
    .addHelpText(
      'after',
      '\nExample:\n  inf-gw keys rotate my-app     creates my-app-2; move your app to it, then:\n  inf-gw keys disable my-app',
    )
    .action((key: string, _: unknown, command: Command) => withState(command, (state) => rotate(key, command, state)));
}

async function create(name: string, terms: KeyTerms, command: Command, state: State): Promise<void> {
  const { record, secret } = await createKey(name, terms, state);
  warnOfUnknownModels(terms.allowlist ?? [], state);
  await printNewKey(record, secret, command, state);
}

/** Makes a key; what is not given is that of the tier. Throws a UserError if the name is taken. */
export async function createKey(
  name: string,
  terms: Partial<KeyTerms> & Pick<NewKey, 'isLeashed' | 'parentId'>,
  state: State,
): Promise<{ record: KeyRecord; secret: string }> {
  const secret = mintKey();
  const change = await state.keys.create(secret, { ...NO_TERMS, ...terms, name }, state.nowMs);
  return { record: await changedKey(change, name, state), secret };
}

async function list({ all = false, limit, after, sort }: ListOptions, command: Command, state: State): Promise<void> {
  const previous = after === undefined ? undefined : await findKey(after, state, { withDeleted: true });
  const afterId = previous?.id;
  const { json } = globalOptions(command);
  const most = limit ?? (json ? undefined : TABLE_ROWS);
  const found = await state.keys.list({ withDeleted: all, afterId, limit: sort === undefined ? most : undefined });
  const records = sort === undefined ? found : (await sortedKeys(found, sort, state)).slice(0, most);
  if (json) return printJson(await keysJson(records, state));
  if (records.length === 0) {
    return printLine(
      previous === undefined
        ? `No keys yet. Create one with: ${hint(command, 'keys', 'create', 'my-app')}`
        : `No keys after ${previous.name}.`,
    );
  }
  await printKeys(records, state);
  if (sort !== undefined && records.length < found.length) {
    return printNote(`These are ${count(records.length)} of ${count(found.length)} keys; --limit shows more.`);
  }
  if (sort !== undefined || records.length !== most) return;
  const last = records.at(-1) as KeyRecord;
  const next = await state.keys.list({ withDeleted: all, afterId: last.id, limit: 1 });
  if (next.length > 0) {
    const sameOptions = [...(all ? ['--all'] : []), ...(limit === undefined ? [] : ['--limit', String(limit)])];
    printLine(`More keys: ${hint(command, 'keys', 'list', ...sameOptions, '--after', last.id)}`, 'dim');
  }
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
  if (keyState === 'enabled' && isGone(record, state.nowMs)) {
    notice(`note: it has expired, and is refused until it has more time: ${moreTime(command, record.name)}`);
  }
}

async function remove(key: string, options: { yes?: true }, command: Command): Promise<void> {
  const { id, name, state: keyState } = await withState(command, (state) => findKey(key, state));
  if (keyState === 'deleted') throw new UserError(`key ${name} is already deleted`);
  if (!options.yes && !(await isConfirmed(`Delete key ${name} permanently? (y/N) `))) {
    throw new UserError('nothing was deleted; to delete, answer y or use --yes');
  }
  // By id: another key may have been given the name in the meantime.
  await withState(command, (state) => setState(id, 'deleted', command, state));
}

async function rotate(key: string, command: Command, state: State): Promise<void> {
  const secret = mintKey();
  const old = await findKey(key, state);
  const { id, name } = old;
  // The successor would be refused like it.
  if (old.state !== 'deleted' && isGone(old, state.nowMs)) {
    throw new UserError(`key ${name} has expired; give it more time first: ${moreTime(command, name)}`);
  }
  const record = await changedKey(await state.keys.rotate(id, secret, state.nowMs), key, state);
  const note = `The old key still works. Once your app uses the new one, run: ${hint(command, 'keys', 'disable', name)}`;
  await printNewKey(record, secret, command, state, note);
}

function moreTime(command: Command, name: string): string {
  return hint(command, 'limits', 'set', name, '--expires', '30d');
}

async function printNewKey(
  record: KeyRecord,
  secret: string,
  command: Command,
  state: State,
  note?: string,
): Promise<void> {
  if (globalOptions(command).json) return printJson(await newKeyJson(record, secret, state));
  printSecret(secret);
  await printBesideKey(record, state, note);
}
