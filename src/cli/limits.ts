/** `limits`: shows and sets the limits of a key or a group, and of its end users. */
import type { Command } from 'commander';
import { LIMIT_NAMES, TERMS } from '../operator/terms.ts';
import { type KeyTerms, NO_TERMS } from '../state/keys.ts';
import { changedGroup, findGroup, nameIn, namesGroup, printGroup } from './group-view.ts';
import { changedKey, findKey, printResult } from './key-view.ts';
import { KEY_OR_GROUP } from './owner.ts';
import { withState } from './state.ts';
import { refuseWordsOf, TermOptions, UserLimitOptions } from './terms.ts';
import type { ThoroughCommand } from './thorough-command.ts';

export function registerLimits(program: Command): void {
  const limits = program.command('limits').description('manage the limits of a key or a group');

  limits
    .command('show')
    .description('show the limits in effect')
    .argument('<key>', KEY_OR_GROUP)
    .addHelpText('after', '\nExamples:\n  inf-gw limits show my-app\n  inf-gw limits show @research')
    .action((key: string, _: unknown, command: Command) =>
      withState(command, async (state) =>
        namesGroup(key)
          ? printGroup(await findGroup(key, state), command, state)
          : printResult(await findKey(key, state), command, state),
      ),
    );

  const terms = new TermOptions<KeyTerms>(TERMS, 'change', LIMIT_NAMES);
  const users = new UserLimitOptions('change');
  const set = limits
    .command('set')
    .description('set limits, in effect when the command returns; the others stay as they are')
    .argument('<key>', KEY_OR_GROUP);
  users
    .addTo(terms.addTo(set))
    .addHelpText(
      'after',
      '\nPeriods: day and week (by the calendar, UTC, weeks begin on Monday), total, or a sliding window such as 24h, 90m or 30d.\n' +
        '<period>=none removes one budget, none removes all. Options apply in the order given.\n' +
        'default gives a key the limit of its tier again; none removes the limit of a group or of each end user.\n' +
        '\nExamples:\n  inf-gw limits set my-app --rpm 120 --spend-limit 25\n  inf-gw limits set my-app --rpm default --spend-limit none\n' +
        '  inf-gw limits set my-app --budget day=5 --budget 1h=1 --expires 30d\n  inf-gw limits set my-app --budget day=none --expires never\n' +
        '  inf-gw limits set @research --budget day=100 --rpm none\n  inf-gw limits set my-app --user-budget day=1 --user-rpm 20',
    )
    .action(async (key: string, _: unknown, command: ThoroughCommand) => {
      const changes = terms.changes(terms.saidBy(command), NO_TERMS);
      const userLimits = users.editBy(command);
      if (Object.keys(changes).length === 0 && userLimits === undefined) {
        command.error(`error: give at least one of ${[...terms.flags, ...users.flags].join(', ')}`);
      }
      refuseWordsOf(namesGroup(key) ? 'group' : 'key', command);
      const all = { ...changes, ...(userLimits !== undefined && { userLimits }) };
      await withState(command, async (state) => {
        if (!namesGroup(key)) {
          const change = await state.keys.setLimits(key, all, state.nowMs);
          return printResult(await changedKey(change, key, state), command, state);
        }
        const change = await state.groups.setLimits(nameIn(key), all, state.nowMs);
        return printGroup(await changedGroup(change, key, state), command, state);
      });
    });
}
