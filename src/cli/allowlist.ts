/** `allowlist`: which models a key, or all keys of a group, may call. */

import type { Command } from 'commander';
import { UserError } from '../core/errors.ts';
import { program } from '../core/program.ts';
import { allowlistText } from '../operator/messages.ts';
import { levelWord } from '../operator/spending.ts';
import type { AllowlistEdit } from '../state/keys.ts';
import { parseModelIds } from './arguments.ts';
import { isConfirmed } from './confirm.ts';
import { changedGroup, nameIn, namesGroup } from './group-view.ts';
import { changedKey, warnOfUnknownModels } from './key-view.ts';
import { printJson, printLine, printText } from './output.ts';
import { findOwner, KEY_OR_GROUP, ownerJson } from './owner.ts';
import { globalOptions, withState } from './state.ts';

type Edit = (current: readonly string[] | null, models: readonly string[]) => readonly string[];

const EDITS: readonly (readonly [verb: string, description: string, edit: Edit])[] = [
  ['set', 'let a key call these models and no others', (_, models) => models],
  [
    'add',
    'let a key that has an allowlist call these models too',
    (current, models) => {
      if (current !== null) return [...current, ...models];
      throw new UserError(
        `no allowlist is set: every model may be called, and an allowlist would take all others away. To allow these models and no others, use \`${program()} allowlist set\``,
      );
    },
  ],
  [
    'remove',
    'remove models from the allowlist; a key with an empty allowlist may call none',
    (current, models) => {
      if (current === null) {
        throw new UserError(
          `no allowlist is set: every model may be called; set one with \`${program()} allowlist set\``,
        );
      }
      return current.filter((model) => !models.includes(model));
    },
  ],
];

export function registerAllowlist(program: Command): void {
  const allowlist = program
    .command('allowlist')
    .description('manage which models a key, or all keys of a group, may call');

  allowlist
    .command('show')
    .description('show the models that a key may call')
    .argument('<key>', KEY_OR_GROUP)
    .addHelpText('after', '\nExample:\n  inf-gw allowlist show my-app')
    .action((key: string, _: unknown, command: Command) =>
      withState(command, async (state) => {
        const record = await findOwner(key, state);
        if (globalOptions(command).json) return printJson(await ownerJson(record, state));
        for (const line of record.allowlist ?? []) printLine(line);
        if (record.allowlist === null || record.allowlist.length === 0) printLine(allowlistText(record.allowlist));
      }),
    );

  allowlist
    .command('clear')
    .description('remove the allowlist; the key may call every model')
    .argument('<key>', KEY_OR_GROUP)
    .addHelpText('after', '\nExample:\n  inf-gw allowlist clear my-app')
    .action((key: string, _: unknown, command: Command) => change(key, () => null, command));

  for (const [verb, description, edit] of EDITS) {
    const changing = allowlist
      .command(verb)
      .description(description)
      .argument('<key>', KEY_OR_GROUP)
      .argument('<model...>', 'model ids: <provider>/<model>', parseModelIds)
      .addHelpText('after', `\nExample:\n  inf-gw allowlist ${verb} my-app openai/gpt-4o-mini mock/echo`);
    if (verb !== 'remove') changing.option('--force', 'do not ask about models that are not in the config');
    changing.action(async (key: string, models: string[], { force = false }: { force?: boolean }, command: Command) => {
      if (verb !== 'remove' && !force) await confirmUnknown(models, command);
      return change(key, (current) => edit(current, models), command, verb === 'remove' ? [] : models);
    });
  }
}

/** Asks before a model that is not in the config is allowed: a typo would refuse the model that was meant. */
async function confirmUnknown(models: readonly string[], command: Command): Promise<void> {
  const unknown = await withState(command, async ({ catalog }) => {
    const known = new Set(catalog.models.map(({ id }) => id));
    return models.filter((model) => !known.has(model));
  });
  if (unknown.length === 0) return;
  const names = unknown.join(', ');
  const question = `${names} ${unknown.length === 1 ? 'is' : 'are'} not in the config. Allow anyway? (y/N) `;
  if (!(await isConfirmed(question))) {
    throw new UserError(
      `${names}: not in the config, and nothing was changed; list models with \`${program()} models\`, or use --force`,
    );
  }
}

function change(key: string, edit: AllowlistEdit, command: Command, named: readonly string[] = []): Promise<void> {
  return withState(command, async (state) => {
    const record = namesGroup(key)
      ? await changedGroup(await state.groups.editAllowlist(nameIn(key), edit), key, state)
      : await changedKey(await state.keys.editAllowlist(key, edit), key, state);
    warnOfUnknownModels(named, state);
    if (globalOptions(command).json) printJson(await ownerJson(record, state));
    else printText(`${levelWord(record)} may call: ${allowlistText(record.allowlist)}`);
  });
}
