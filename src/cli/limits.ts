/** `limits`: shows and sets the limits of a key. */
import type { Command } from 'commander';
import type { Nanos } from '../core/money.ts';
import { type BudgetWord, budgetEdit } from '../operator/budgets.ts';
import { keywordOr, readAmount, readConcurrency, readRpm, readTpm } from '../operator/input.ts';
import type { LimitChanges } from '../state/keys.ts';
import { parseBudgets, parseExpiryOrNever, parseWith } from './arguments.ts';
import { changedKeyOrThrow, keyOrThrow, printResult } from './key-view.ts';
import { withState } from './state.ts';

interface SetOptions {
  readonly rpm?: number | 'default';
  readonly tpm?: number | 'default';
  readonly concurrency?: number | 'default';
  readonly spendLimit?: Nanos | 'none';
  readonly budget?: readonly BudgetWord[];
  readonly expires?: number | 'never';
}

/** As `keys create` has them, too. */
export const BUDGET_HELP = 'spend at most this in a period, such as day=5; repeat for more';
export const EXPIRES_HELP = 'refuse the key from then on: 30d from now, a date or a time';

export function registerLimits(program: Command): void {
  const limits = program.command('limits').description('manage the limits of a key');

  limits
    .command('show')
    .description('show the limits in effect')
    .argument('<key>', 'id or name')
    .addHelpText('after', '\nExample:\n  inf-gw limits show my-app')
    .action((key: string, _: unknown, command: Command) =>
      withState(command, async (state) => printResult(keyOrThrow(await state.keys.find(key), key), command, state)),
    );

  limits
    .command('set')
    .description('set limits; the others stay as they are. In effect when the command returns')
    .argument('<key>', 'id or name')
    .option('--rpm <n|default>', 'requests per minute', parseWith(keywordOr('default', readRpm)))
    .option('--tpm <n|default>', 'tokens per minute, input and output', parseWith(keywordOr('default', readTpm)))
    .option('--concurrency <n|default>', 'concurrent requests', parseWith(keywordOr('default', readConcurrency)))
    .option('--spend-limit <usd|none>', 'spend limit per calendar month, UTC', parseWith(keywordOr('none', readAmount)))
    .option('--budget <period=usd>', BUDGET_HELP, parseBudgets)
    .option('--expires <time|never>', EXPIRES_HELP, parseExpiryOrNever)
    .addHelpText(
      'after',
      '\nPeriods: day and week (calendar, UTC, weeks from Monday), total, and 24h, 90m, 30d: a sliding window.\n' +
        '<period>=none removes one budget, none removes all. Options apply in their order.\n' +
        '\nExamples:\n  inf-gw limits set my-app --rpm 120 --spend-limit 25\n  inf-gw limits set my-app --rpm default --spend-limit none\n' +
        '  inf-gw limits set my-app --budget day=5 --budget 1h=1 --expires 30d\n  inf-gw limits set my-app --budget day=none --expires never',
    )
    .action((key: string, options: SetOptions, command: Command) => set(key, options, command));
}

async function set(key: string, options: SetOptions, command: Command): Promise<void> {
  const { rpm, tpm, concurrency, spendLimit, budget, expires } = options;
  if ([rpm, tpm, concurrency, spendLimit, budget, expires].every((value) => value === undefined)) {
    command.error('error: give at least one of --rpm, --tpm, --concurrency, --spend-limit, --budget, --expires');
  }
  const limits: LimitChanges = {
    ...(rpm !== undefined && { rpm: rpm === 'default' ? null : rpm }),
    ...(tpm !== undefined && { tpm: tpm === 'default' ? null : tpm }),
    ...(concurrency !== undefined && { concurrency: concurrency === 'default' ? null : concurrency }),
    ...(spendLimit !== undefined && { spendLimitNanos: spendLimit === 'none' ? null : spendLimit }),
    ...(budget !== undefined && { budgets: budgetEdit(budget) }),
    ...(expires !== undefined && { expiresAtMs: expires === 'never' ? null : expires }),
  };
  await withState(command, async (state) =>
    printResult(changedKeyOrThrow(await state.keys.setLimits(key, limits, state.nowMs), key), command, state),
  );
}
