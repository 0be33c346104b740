/** `groups`: creates, lists, shows and deletes groups, which share limits among the keys in them. */

import type { Command } from 'commander';
import { program } from '../core/program.ts';
import { levelWord } from '../operator/spending.ts';
import { GROUP_TERMS, type GroupTerms } from '../operator/terms.ts';
import { type NewGroup, NO_LEVEL_TERMS } from '../state/levels.ts';
import { parseWith } from './arguments.ts';
import { defaultCommand } from './command-tree.ts';
import {
  changedGroup,
  findGroup,
  groupsJson,
  printGroup,
  printGroups,
  readGroupName,
  readGroups,
} from './group-view.ts';
import { warnOfUnknownModels } from './key-view.ts';
import { printJson, printLine } from './output.ts';
import { globalOptions, type State, withState } from './state.ts';
import { TermOptions, UserLimitOptions } from './terms.ts';

export function registerGroups(program: Command): void {
  const groups = program.command('groups').description('manage groups of keys, which share limits');
  registerCreate(groups);

  defaultCommand(groups, 'list')
    .description('list groups as a tree, with their limits and this month’s usage')
    .addHelpText('after', '\nExamples:\n  inf-gw groups list\n  inf-gw groups list --json')
    .action((_: unknown, command: Command) => withState(command, (state) => list(command, state)));

  groups
    .command('show')
    .description('show a group')
    .argument('<group>', '@name, or an id')
    .addHelpText('after', '\nExample:\n  inf-gw groups show @research')
    .action((word: string, _: unknown, command: Command) =>
      withState(command, async (state) => printGroup(await findGroup(word, state), command, state)),
    );

  groups
    .command('delete')
    .description('delete an empty group; its usage is kept')
    .argument('<group>', '@name, or an id')
    .option('--yes', 'move what is in it to the group above, and do not ask')
    .addHelpText('after', '\nExamples:\n  inf-gw groups delete @research\n  inf-gw groups delete @research --yes')
    .action((word: string, options: { yes?: true }, command: Command) =>
      withState(command, async (state) => {
        const { id } = await findGroup(word, state);
        const group = await changedGroup(
          await state.groups.delete(id, { isEmptied: options.yes === true }),
          word,
          state,
        );
        if (globalOptions(command).json) return printGroup(group, command, state);
        printLine(`${levelWord(group)} is deleted.`);
      }),
    );
}

function registerCreate(groups: Command): void {
  const terms = new TermOptions<GroupTerms>(GROUP_TERMS, 'create');
  const users = new UserLimitOptions('create');
  const creation = groups
    .command('create')
    .description('create a group; put keys and groups in it with --in, or with `keys move`')
    .argument('<name>', 'a name, such as that of a department or a plan', parseWith(readGroupName))
    .option('--in <group>', 'put it into this group (@name)');
  users
    .addTo(terms.addTo(creation))
    .addHelpText(
      'after',
      '\nA limit of a group holds for all its keys together; one of its end users, for each of them over all its keys.\n' +
        '\nExamples:\n  inf-gw groups create research --budget day=100\n' +
        '  inf-gw groups create nlp --in @research --rpm 600\n' +
        '  inf-gw groups create free --user-budget day=0.10 --user-rpm 5 --user-required',
    )
    .action((name: string, options: { in?: string }, command: Command) =>
      withState(
        command,
        async (state) => {
          const outer = options.in === undefined ? null : await findGroup(options.in, state);
          const given = terms.after({ ...NO_LEVEL_TERMS, allowlist: null }, terms.saidBy(command));
          const group = { ...given, name, groupId: outer?.id ?? null, userLimits: users.givenTo(command) };
          await create(group, command, state);
        },
        { creates: true },
      ),
    );
}

async function create(group: NewGroup, command: Command, state: State): Promise<void> {
  const made = await changedGroup(await state.groups.create(group, state.nowMs), group.name, state);
  warnOfUnknownModels(made.allowlist ?? [], state);
  await printGroup(made, command, state);
}

async function list(command: Command, state: State): Promise<void> {
  const read = await readGroups(state);
  if (globalOptions(command).json) return printJson(groupsJson(read, state.nowMs));
  if (read.groups.length > 0) return printGroups(read, state.nowMs);
  printLine(`No groups yet. Create one with: ${program('groups', 'create', 'my-team', '--budget', 'day=5')}`);
}
