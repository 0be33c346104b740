/** `usage`: requests, tokens and cost by key, model, group, day, month, source, user, tag or app. */

import { type Command, Option } from 'commander';
import { usageCsv, usageJson } from '../operator/export.ts';
import { blocks, count, percent } from '../operator/format.ts';
import { MOMENT, type Reading, readMoment } from '../operator/input.ts';
import { NO_NAME, NO_USAGE } from '../operator/messages.ts';
import { amount, type Look, type Table } from '../operator/table.ts';
import { isNameKind } from '../state/names.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageRow } from '../state/usage.ts';
import { parseWith } from './arguments.ts';
import { findKey } from './key-view.ts';
import { look, notice, printCsv, printJson, printLine, printTable } from './output.ts';
import { groupOf } from './owner.ts';
import { readSaved, savedJson, savedLine } from './saved.ts';
import { globalOptions, withState } from './state.ts';

interface UsageOptions {
  readonly by: readonly UsageGroup[];
  readonly key?: string;
  readonly group?: string;
  readonly model?: string;
  readonly since?: number;
  readonly until?: number;
  readonly csv?: true;
}

export function registerUsage(program: Command): void {
  const parseMoment = parseWith(readMoment(Date.now()));
  program
    .command('usage')
    .description('show requests, tokens and cost, by time of admission (UTC)')
    .addOption(
      new Option('--by <group>', 'group by one of these, or by several: key,model')
        .choices(USAGE_GROUPS)
        .argParser(parseWith(readGroups))
        .default([], 'one sum of everything'),
    )
    .option('--key <key>', 'only this key (id or name)')
    .option('--group <group>', 'only what was booked to this group (@name), with the groups in it')
    .option('--model <model>', 'only this model')
    .option('--since <time>', `from this time on: ${MOMENT}`, parseMoment)
    .option('--until <time>', 'before this time', parseMoment)
    .option('--csv', 'print comma-separated values')
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw usage --by key --since yesterday\n  inf-gw usage --by day --key my-app --since 2026-11-01\n  inf-gw usage --by month --csv > usage.csv\n  inf-gw usage --by key,model\n  inf-gw usage --by group      a group includes the groups inside it\n  inf-gw usage --by source     reported by providers, or counted by the gateway\n  inf-gw usage --by user       who it was for, as clients say; also tag, app',
    )
    .action((options: UsageOptions, command: Command) => usage(options, command));
}

/** What is summed by user, tag or app is not divided further. */
function readGroups(text: string): Reading<readonly UsageGroup[]> {
  const groups = text.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.trim()));
  const known = groups.filter((group) => group !== undefined);
  if (known.length < groups.length || new Set(known).size < known.length) {
    return { ok: false, expected: `Allowed choices are ${USAGE_GROUPS.join(', ')}, or several of them: key,model.` };
  }
  const alone = known.length > 1 ? known.find(isNameKind) : undefined;
  if (alone === undefined) return { ok: true, value: known };
  return { ok: false, expected: `${alone} stands alone; --key, --group and --model can narrow it.` };
}

async function usage(options: UsageOptions, command: Command): Promise<void> {
  const { since, until } = options;
  // --json is an option of the program, which commander's own check for conflicts does not see.
  if (options.csv && globalOptions(command).json) command.error('error: --csv and --json cannot be used together');
  if (since !== undefined && until !== undefined && since >= until) {
    command.error('error: --since must be before --until');
  }
  await withState(command, async (state) => {
    const key = options.key === undefined ? undefined : await findKey(options.key, state, { withDeleted: true });
    const group = await groupOf(options.group, state);
    const [by, ...and] = options.by;
    const { rows, droppedDays } = await state.usage.report({
      by,
      and: and.filter((group) => !isNameKind(group)),
      keyId: key?.id,
      groupId: group?.id,
      model: options.model,
      sinceMs: since,
      untilMs: until,
    });
    const isInJournalAlone = group !== undefined && isNameKind(by);
    for (const note of (isInJournalAlone ? notesOnNames : notesOnDays)(droppedDays)) notice(note);
    if (options.csv) {
      return printCsv(usageCsv(rows, ...options.by));
    }
    const asked = { keyId: key?.id, model: options.model, sinceMs: since, untilMs: until };
    const saved = await readSaved(state.config.cachePath, asked);
    if (globalOptions(command).json) {
      return printJson(rows.map((row) => ({ ...usageJson(row, ...options.by), ...savedJson(row, options.by, saved) })));
    }
    if (rows.length === 0) return printLine(NO_USAGE);
    printTable(usageTable(rows, options.by, look()));
    const line = savedLine(saved);
    if (line !== undefined) printLine(line);
  });
}

function notesOnDays(dropped: readonly string[]): readonly string[] {
  return dropped.map(
    (day) =>
      `note: the journal no longer has the requests of ${day} (journal_retention); use a range of whole days to include it`,
  );
}

/** What was booked to a group has no sums by name. */
function notesOnNames(dropped: readonly string[]): readonly string[] {
  if (dropped.length === 0) return [];
  const days = dropped.length === 1 ? dropped[0] : `${dropped[0]} to ${dropped.at(-1)}`;
  return [
    `note: the journal no longer has the requests of ${days} (journal_retention), and who they were for within a group is known from it alone`,
  ];
}

/** Shown where there is anything to show. */
const CACHE_COLUMNS: readonly { readonly head: string; tokens(row: Sums): number }[] = [
  { head: 'CACHED', tokens: ({ cachedTokens }) => cachedTokens },
  { head: 'WRITTEN', tokens: ({ cacheWriteTokens }) => cacheWriteTokens },
];

/** Columns of the bar of a row. */
const BAR = 10;

/** Sums by group. On a terminal with what each is of the whole, and a total. */
export function usageTable(rows: readonly UsageRow[], by: readonly UsageGroup[], look: Look): Table {
  const caches = CACHE_COLUMNS.filter(({ tokens }) => rows.some((row) => tokens(row) > 0));
  // Groups in others are booked to both.
  const hasShares = by.length > 0 && !by.includes('group') && look.room !== undefined;
  const figures = (row: Sums) => [
    count(row.requests),
    count(row.errors),
    count(row.promptTokens),
    ...caches.map(({ tokens }) => count(tokens(row))),
    count(row.completionTokens),
    count(row.promptTokens + row.completionTokens),
    amount(row.costNanos, look),
  ];
  const { total, shareOf, mostShare } = sharesOf(rows);
  const shares = (row: Sums, share = shareOf(row)) => [percent(share), blocks(share / mostShare, BAR)];
  return {
    columns: [
      ...by.map((group) => ({ head: group.toUpperCase(), least: 12 })),
      { head: 'REQUESTS', number: true, rank: 2 },
      { head: 'ERRORS', number: true, rank: 3 },
      { head: 'TOKENS IN', number: true, rank: 6 },
      ...caches.map(({ head }) => ({ head, number: true, rank: 7 }) as const),
      { head: 'TOKENS OUT', number: true, rank: 6 },
      { head: 'TOKENS', number: true, rank: 4 },
      { head: 'COST (USD)', usd: true },
      ...(hasShares
        ? ([
            { head: 'SHARE', number: true, rank: 1 },
            { head: '', rank: 5 },
          ] as const)
        : []),
    ],
    rows: rows.map((row) => [
      ...by.map((group) => (row[group] ?? (group === 'key' ? row.keyId : undefined)) || NO_NAME),
      ...figures(row),
      ...(hasShares ? shares(row) : []),
    ]),
    ...(hasShares && { total: ['TOTAL', ...by.slice(1).map(() => ''), ...figures(total), '100%', ''] }),
  };
}

type Sums = Pick<
  UsageRow,
  'requests' | 'errors' | 'promptTokens' | 'cachedTokens' | 'cacheWriteTokens' | 'completionTokens' | 'costNanos'
>;

/** The total, and what each row is of its cost; of its requests, if nothing costs anything. */
function sharesOf(rows: readonly UsageRow[]) {
  const sum = (read: (row: UsageRow) => number) => rows.reduce((most, row) => most + read(row), 0);
  const total: Sums = {
    requests: sum(({ requests }) => requests),
    errors: sum(({ errors }) => errors),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    cacheWriteTokens: sum(({ cacheWriteTokens }) => cacheWriteTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
    costNanos: rows.reduce((most, { costNanos }) => most + costNanos, 0n),
  };
  const shareOf = ({ costNanos, requests }: Sums) =>
    total.costNanos > 0n ? Number(costNanos) / Number(total.costNanos) : requests / Math.max(1, total.requests);
  const mostShare = rows.reduce((most, row) => Math.max(most, shareOf(row)), 0) || 1;
  return { total, shareOf, mostShare };
}
