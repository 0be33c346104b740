/** `usage`: requests, tokens and cost by key, model, day, month or source. */

import { type Command, Option } from 'commander';
import { formatUsd } from '../core/money.ts';
import { usageCsv, usageShape } from '../operator/export.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageRow } from '../state/usage.ts';
import { moment } from './arguments.ts';
import { existing } from './key-view.ts';
import { type Column, count, notice, printJson, printLine, printTable } from './output.ts';
import { globalOptions, withState } from './state.ts';

interface UsageOptions {
  readonly by?: UsageGroup;
  readonly key?: string;
  readonly model?: string;
  readonly since?: number;
  readonly until?: number;
  readonly csv?: true;
}

export function registerUsage(program: Command): void {
  const nowMs = Date.now();
  program
    .command('usage')
    .description('requests, tokens and cost, by time of admission (UTC)')
    .addOption(new Option('--by <group>', 'a row for each').choices(USAGE_GROUPS))
    .option('--key <key>', 'of this key only: id or name')
    .option('--model <model>', 'of this model only')
    .option('--since <time>', 'from then on: a date, a time, or 7d, 12h', moment(nowMs))
    .option('--until <time>', 'before then', moment(nowMs))
    .option('--csv', 'comma-separated values')
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw usage --by key --since 7d\n  inf-gw usage --by day --key my-app --since 2026-11-01\n  inf-gw usage --by month --csv > usage.csv\n  inf-gw usage --by source     which figures the providers reported, and which the gateway counted itself',
    )
    .action((options: UsageOptions, command: Command) => usage(options, command));
}

function usage(options: UsageOptions, command: Command): void {
  const { since, until } = options;
  // --json belongs to the program, so commander's own check for conflicts does not see it.
  if (options.csv && globalOptions(command).json) command.error('error: --csv and --json exclude each other; name one');
  if (since !== undefined && until !== undefined && since >= until) {
    command.error('error: --since must be before --until');
  }
  withState(command, (state) => {
    const key = options.key === undefined ? undefined : existing(state.keys.findWithDeleted(options.key), options.key);
    const { rows, droppedDays } = state.usage.report({
      by: options.by,
      keyId: key?.id,
      model: options.model,
      sinceMs: since,
      untilMs: until,
    });
    for (const day of droppedDays) {
      notice(
        `note: the single requests of ${day} are dropped from the journal (journal_retention); ask for the whole day`,
      );
    }
    if (options.csv) {
      process.stdout.write(usageCsv(rows, options.by));
      return;
    }
    if (globalOptions(command).json) return printJson(rows.map((row) => usageShape(row, options.by)));
    if (rows.length === 0) return printLine('Nothing was used.');
    printRows(rows, options.by);
  });
}

function printRows(rows: readonly UsageRow[], by: UsageGroup | undefined): void {
  const named: Column[] = by === undefined ? [] : [{ head: by.toUpperCase() }];
  printTable(
    [
      ...named,
      { head: 'REQUESTS', number: true },
      { head: 'ERRORS', number: true },
      { head: 'TOKENS IN', number: true },
      { head: 'TOKENS OUT', number: true },
      { head: 'TOKENS', number: true },
      { head: 'COST (USD)', usd: true },
    ],
    rows.map((row) => [
      ...(by === undefined ? [] : [row[by] ?? row.keyId ?? '']),
      count(row.requests),
      count(row.errors),
      count(row.promptTokens),
      count(row.completionTokens),
      count(row.promptTokens + row.completionTokens),
      formatUsd(row.costNanos),
    ]),
  );
}
