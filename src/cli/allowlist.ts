/** `allowlist`: which models a key may call. */
import type { Command } from 'commander';
import { UserError } from '../core/errors.ts';
import { modelId } from './arguments.ts';
import { allowlistText, changed, existing, keyJson, warnOfUnknownModels } from './key-view.ts';
import { printJson, printLine } from './output.ts';
import { globalOptions, withState } from './state.ts';

type Edit = (current: readonly string[] | null, models: readonly string[]) => readonly string[];

const EDITS: readonly (readonly [verb: string, effect: string, edit: Edit])[] = [
  ['set', 'let the key call these models and no others', (_, models) => models],
  ['add', 'let the key call these models too', (current, models) => [...(current ?? []), ...models]],
  [
    'remove',
    'take models off the list; with the last one gone, the key may call none',
    (current, models) => {
      if (current === null)
        throw new UserError('the key has no list: it may call every model; name those it may with allowlist set');
      return current.filter((model) => !models.includes(model));
    },
  ],
];

export function registerAllowlist(program: Command): void {
  const allowlist = program.command('allowlist').description('which models a key may call');

  allowlist
    .command('show')
    .description('show the models that a key may call')
    .argument('<key>', 'id or name')
    .addHelpText('after', '\nExample:\n  inf-gw allowlist show my-app')
    .action((key: string, _: unknown, command: Command) =>
      withState(command, (state) => {
        const record = existing(state.keys.find(key), key);
        if (globalOptions(command).json) return printJson(keyJson(record, state));
        for (const line of record.allowlist ?? []) printLine(line);
        if (record.allowlist === null || record.allowlist.length === 0) printLine(allowlistText(record.allowlist));
      }),
    );

  allowlist
    .command('clear')
    .description('let the key call every model')
    .argument('<key>', 'id or name')
    .addHelpText('after', '\nExample:\n  inf-gw allowlist clear my-app')
    .action((key: string, _: unknown, command: Command) => change(key, () => null, command));

  for (const [verb, effect, edit] of EDITS) {
    allowlist
      .command(verb)
      .description(effect)
      .argument('<key>', 'id or name')
      .argument('<model...>', 'ids of models, <provider>/<model>', modelId)
      .addHelpText('after', `\nExample:\n  inf-gw allowlist ${verb} my-app openai/gpt-4o-mini mock/echo`)
      .action((key: string, models: string[], _: unknown, command: Command) => {
        change(key, (current) => edit(current, models), command, verb === 'remove' ? [] : models);
      });
  }
}

function change(
  key: string,
  edit: (current: readonly string[] | null) => readonly string[] | null,
  command: Command,
  named: readonly string[] = [],
): void {
  withState(command, (state) => {
    const record = changed(state.keys.editAllowlist(key, edit), key);
    warnOfUnknownModels(named, state);
    if (globalOptions(command).json) printJson(keyJson(record, state));
    else printLine(`${record.name} may call: ${allowlistText(record.allowlist)}`);
  });
}
