/** `keys`: creates, lists, shows, enables, disables, deletes and rotates keys. */

import type { Command } from 'commander';
import { mintKey } from '../core/api-key.ts';
import { utcMonth } from '../core/clock.ts';
import { UserError } from '../core/errors.ts';
import type { Nanos } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { readAmount, readConcurrency, readCount, readKeyName, readRpm, readTpm } from '../operator/input.ts';
import type { KeyRecord, KeyState } from '../state/keys.ts';
import { modelId, taking } from './arguments.ts';
import {
  changed,
  existing,
  keyJson,
  keysJson,
  printKey,
  printKeys,
  printRefusals,
  refusalJson,
  warnOfUnknownModels,
} from './key-view.ts';
import { bold, dim, notice, printJson, printLine } from './output.ts';
import { globalOptions, type State, withState } from './state.ts';

/** Keys in a table, unless it is said how many. */
const TABLE_ROWS = 200;
const MAX_LISTED = 1_000_000;

interface ListOptions {
  readonly all?: boolean;
  readonly limit?: number;
  readonly after?: string;
}

interface CreateOptions {
  readonly rpm?: number;
  readonly tpm?: number;
  readonly concurrency?: number;
  readonly spendLimit?: Nanos;
  readonly allow?: string[];
}

export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('create, list, show, enable, disable, delete and rotate keys');

  keys
    .command('create')
    .description('make a key, and print it once')
    .argument('<name>', 'what the key is for, such as the name of the app', taking(readKeyName))
    .option('--rpm <n>', 'requests per minute (default: the tier’s)', taking(readRpm))
    .option('--tpm <n>', 'tokens per minute, input and output (default: the tier’s)', taking(readTpm))
    .option('--concurrency <n>', 'requests at once (default: the tier’s)', taking(readConcurrency))
    .option(
      '--spend-limit <usd>',
      'the most that the key may spend in a calendar month, UTC (default: no limit)',
      taking(readAmount),
    )
    .option('--allow <model>', 'a model that the key may call; repeat it for more (default: all models)', modelId)
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys create my-app\n  inf-gw keys create trial --rpm 60 --spend-limit 5 --allow openai/gpt-4o-mini',
    )
    .action((name: string, options: CreateOptions, command: Command) =>
      withState(command, (state) => create(name, options, command, state)),
    );

  keys
    .command('list')
    .description('list the keys, with their limits and this month’s figures')
    .option('--all', 'deleted keys too')
    .option('--limit <n>', `so many at most (default: ${TABLE_ROWS}; with --json all)`, taking(readCount(MAX_LISTED)))
    .option('--after <key>', 'those made after this one: id or name')
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw keys list\n  inf-gw keys list --limit 50 --after my-app\n  inf-gw keys list --all --json',
    )
    .action((options: ListOptions, command: Command) => withState(command, (state) => list(options, command, state)));

  keys
    .command('show')
    .description('show a key')
    .argument('<key>', 'id or name')
    .option('--refusals', 'only how often it was refused this month, and why')
    .addHelpText('after', '\nExamples:\n  inf-gw keys show my-app\n  inf-gw keys show my-app --refusals --json')
    .action((key: string, options: { refusals?: true }, command: Command) =>
      withState(command, (state) => show(existing(state.keys.find(key), key), options, command, state)),
    );

  for (const [verb, keyState, effect] of [
    ['enable', 'enabled', 'let a key work again'],
    ['disable', 'disabled', 'refuse a key from now on, until it is enabled'],
  ] as const) {
    keys
      .command(verb)
      .description(effect)
      .argument('<key>', 'id or name')
      .addHelpText('after', `\nExample:\n  inf-gw keys ${verb} my-app`)
      .action((key: string, _: unknown, command: Command) =>
        withState(command, (state) => setState(key, keyState, command, state)),
      );
  }

  keys
    .command('delete')
    .description('refuse a key for ever; its usage stays on record')
    .argument('<key>', 'id or name')
    .option('--yes', 'do not ask')
    .addHelpText('after', '\nExamples:\n  inf-gw keys delete my-app\n  inf-gw keys delete my-app --yes')
    .action(remove);

  keys
    .command('rotate')
    .description('make a successor with the same settings; the old key works until you disable it')
    .argument('<key>', 'id or name')
    .addHelpText(
      'after',
      '\nExample:\n  inf-gw keys rotate my-app     makes my-app-2; move your app to it, then:\n  inf-gw keys disable my-app',
    )
    .action((key: string, _: unknown, command: Command) => withState(command, (state) => rotate(key, command, state)));
}

function create(name: string, options: CreateOptions, command: Command, state: State): void {
  const secret = mintKey();
  const change = state.keys.create(
    secret,
    {
      name,
      rpm: options.rpm ?? null,
      tpm: options.tpm ?? null,
      concurrency: options.concurrency ?? null,
      spendLimitNanos: options.spendLimit ?? null,
      allowlist: options.allow ?? null,
    },
    state.nowMs,
  );
  warnOfUnknownModels(options.allow ?? [], state);
  printNewKey(changed(change, name), secret, command, state);
}

function list({ all = false, limit, after }: ListOptions, command: Command, state: State): void {
  const afterId = after === undefined ? undefined : existing(state.keys.findWithDeleted(after), after).id;
  const { json } = globalOptions(command);
  const most = limit ?? (json ? undefined : TABLE_ROWS);
  const records = state.keys.list({ withDeleted: all, afterId, limit: most });
  if (json) return printJson(keysJson(records, state));
  if (records.length === 0) {
    return printLine(
      after === undefined
        ? `There are no keys yet. Create one with: ${PROGRAM} keys create my-app`
        : `There are no keys after ${after}.`,
    );
  }
  printKeys(records, state);
  const last = records.at(-1) as KeyRecord;
  if (records.length === most && state.keys.list({ withDeleted: all, afterId: last.id, limit: 1 }).length > 0) {
    const asBefore = `${all ? ' --all' : ''}${limit === undefined ? '' : ` --limit ${limit}`}`;
    printLine(dim(`There are more: ${PROGRAM} keys list${asBefore} --after ${last.id}`));
  }
}

function show(record: KeyRecord, options: { refusals?: true }, command: Command, state: State): void {
  const refusals = state.usage.refusalsOf(record.id, utcMonth(state.nowMs));
  if (globalOptions(command).json) {
    return printJson(options.refusals ? refusals.map(refusalJson) : keyJson(record, state));
  }
  if (!options.refusals) {
    printKey(record, state);
    printLine();
  }
  printRefusals(refusals);
}

function setState(key: string, keyState: KeyState, command: Command, state: State): void {
  const record = changed(state.keys.setState(key, keyState), key);
  if (globalOptions(command).json) printJson(keyJson(record, state));
  else printLine(`${record.name} is ${keyState}.`);
}

async function remove(key: string, options: { yes?: true }, command: Command): Promise<void> {
  const { id, name, state: keyState } = withState(command, (state) => existing(state.keys.find(key), key));
  if (keyState === 'deleted') throw new UserError(`the key ${name} is deleted already`);
  if (!options.yes && !(await isConfirmed(`Delete the key ${name} for ever? (y/N) `))) {
    throw new UserError('nothing was deleted; answer y, or add --yes');
  }
  // By its id: the name may have gone to another key meanwhile.
  withState(command, (state) => setState(id, 'deleted', command, state));
}

/** Asks on stderr and reads a line from stdin. No answer is a no. */
async function isConfirmed(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  // Not `prompt.question`, which overlooks an answer without a line break at its end.
  const answer = await new Promise<string>((resolve) => {
    prompt.once('line', resolve).once('close', () => resolve(''));
    prompt.setPrompt(question);
    prompt.prompt();
  });
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

function rotate(key: string, command: Command, state: State): void {
  const secret = mintKey();
  const record = changed(state.keys.rotate(key, secret, state.nowMs), key);
  printNewKey(record, secret, command, state);
  if (!globalOptions(command).json)
    printLine(`\nThe old key still works. When your app uses the new one: ${PROGRAM} keys disable ${key}`);
}

/** The one time that a key is shown. */
function printNewKey(record: KeyRecord, secret: string, command: Command, state: State): void {
  if (globalOptions(command).json) return printJson({ ...keyJson(record, state), key: secret });
  printLine(bold(secret));
  notice('This is the only time that the key is shown: store it now.');
  printLine();
  printKey(record, state);
}
