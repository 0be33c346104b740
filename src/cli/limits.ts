/** `limits`: shows and sets the limits of a key. */
import type { Command } from 'commander';
import type { Nanos } from '../core/money.ts';
import { keywordOr, readAmount, readConcurrency, readRpm, readTpm } from '../operator/input.ts';
import type { OwnLimits } from '../state/keys.ts';
import { parseWith } from './arguments.ts';
import { changedKeyOrThrow, keyOrThrow, printResult } from './key-view.ts';
import { withState } from './state.ts';

interface SetOptions {
  readonly rpm?: number | 'default';
  readonly tpm?: number | 'default';
  readonly concurrency?: number | 'default';
  readonly spendLimit?: Nanos | 'none';
}

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
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw limits set my-app --rpm 120 --spend-limit 25\n  inf-gw limits set my-app --rpm default --spend-limit none',
    )
    .action((key: string, options: SetOptions, command: Command) => set(key, options, command));
}

async function set(key: string, options: SetOptions, command: Command): Promise<void> {
  const { rpm, tpm, concurrency, spendLimit } = options;
  if ([rpm, tpm, concurrency, spendLimit].every((value) => value === undefined)) {
    command.error('error: give at least one of --rpm, --tpm, --concurrency, --spend-limit');
  }
  const limits: Partial<OwnLimits> = {
    ...(rpm !== undefined && { rpm: rpm === 'default' ? null : rpm }),
    ...(tpm !== undefined && { tpm: tpm === 'default' ? null : tpm }),
    ...(concurrency !== undefined && { concurrency: concurrency === 'default' ? null : concurrency }),
    ...(spendLimit !== undefined && { spendLimitNanos: spendLimit === 'none' ? null : spendLimit }),
  };
  await withState(command, async (state) =>
    printResult(changedKeyOrThrow(await state.keys.setLimits(key, limits), key), command, state),
  );
}
