/** `limits`: shows and sets the limits of a key. */
import type { Command } from 'commander';
import type { LimitChanges } from '../state/keys.ts';
import { changedKey, findKey, printResult } from './key-view.ts';
import { withState } from './state.ts';
import { addOptions, limitChanges, saidBy, termOptions } from './terms.ts';

export function registerLimits(program: Command): void {
  const limits = program.command('limits').description('manage the limits of a key');

  limits
    .command('show')
    .description('show the limits in effect')
    .argument('<key>', 'id or name')
    .addHelpText('after', '\nExample:\n  inf-gw limits show my-app')
    .action((key: string, _: unknown, command: Command) =>
      withState(command, async (state) => printResult(await findKey(key, state), command, state)),
    );

  const options = termOptions('change');
  const set = limits
    .command('set')
    .description('set limits; the others stay as they are. In effect when the command returns')
    .argument('<key>', 'id or name');
  addOptions(set, options)
    .addHelpText(
      'after',
      '\nPeriods: day and week (calendar, UTC, weeks from Monday), total, and 24h, 90m, 30d: a sliding window.\n' +
        '<period>=none removes one budget, none removes all. Options apply in their order.\n' +
        '\nExamples:\n  inf-gw limits set my-app --rpm 120 --spend-limit 25\n  inf-gw limits set my-app --rpm default --spend-limit none\n' +
        '  inf-gw limits set my-app --budget day=5 --budget 1h=1 --expires 30d\n  inf-gw limits set my-app --budget day=none --expires never',
    )
    .action((key: string, _: unknown, command: Command) => {
      const said = saidBy(command, options);
      if (Object.keys(said).length > 0) return change(key, limitChanges(said), command);
      command.error(`error: give at least one of ${options.map(({ option }) => option.long).join(', ')}`);
    });
}

function change(key: string, changes: LimitChanges, command: Command): Promise<void> {
  return withState(command, async (state) =>
    printResult(await changedKey(await state.keys.setLimits(key, changes, state.nowMs), key, state), command, state),
  );
}
