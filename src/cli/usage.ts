/** `usage`: requests, tokens and cost by key, model, group, time, source, user, tag and app. */

import { type Command, Option } from 'commander';
import { NAME_KINDS, type NameKind } from '../core/spent-by.ts';
import { usageCsv, usageJson } from '../operator/export.ts';
import { blocks, count, exactUsd, percent } from '../operator/format.ts';
import { MOMENT, type Reading, readMoment, readPath } from '../operator/input.ts';
import { NO_NAME, NO_USAGE } from '../operator/messages.ts';
import { levelWord } from '../operator/spending.ts';
import type { Look, Table } from '../operator/table.ts';
import { isFromJournal } from '../state/report.ts';
import { USAGE_GROUPS, type UsageGroup, type UsageQuery, type UsageRow } from '../state/usage.ts';
import { parseWith } from './arguments.ts';
import { findKey } from './key-view.ts';
import { look, notice, printCsv, printJson, printLine, printTable } from './output.ts';
import { groupOf } from './owner.ts';
import { readSaved, savedJson, savedLine } from './saved.ts';
import { globalOptions, type State, withState } from './state.ts';
import { plotUsage } from './usage-plot.ts';
import { readReportedName } from './users.ts';

interface UsageOptions {
  readonly by: readonly UsageGroup[];
  readonly key?: string;
  readonly group?: string;
  readonly model?: string;
  readonly user?: string;
  readonly tag?: string;
  readonly app?: string;
  readonly chart?: true;
  readonly svg?: string;
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
    .option('--user <name>', 'only requests for this end user', parseWith(readReportedName))
    .option('--tag <name>', 'only requests with this tag', parseWith(readReportedName))
    .option('--app <name>', 'only requests of this app', parseWith(readReportedName))
    .option('--since <time>', `from this time on: ${MOMENT}`, parseMoment)
    .option('--until <time>', 'before this time', parseMoment)
    .option('--csv', 'print comma-separated values')
    .option(
      '--chart',
      'plot the cost by hour, or by day beyond 8 days, beside that of earlier weeks (default: the last 24 hours)',
    )
    .option('--svg <file>', 'write this plot to a file', parseWith(readPath))
    .addHelpText(
      'after',
      '\nExamples:\n  inf-gw usage --by key --since yesterday\n  inf-gw usage --by day --key my-app --since 2026-11-01\n  inf-gw usage --by month --csv > usage.csv\n  inf-gw usage --by key,model\n  inf-gw usage --by group      a group includes the groups inside it\n  inf-gw usage --by source     reported by providers, or counted by the gateway\n  inf-gw usage --by user,model    by end user and model; also tag, app\n  inf-gw usage --by hour --key my-app --since today\n  inf-gw usage --chart --since 7d --key my-app\n  inf-gw usage --svg cost.svg --since 30d',
    )
    .action((options: UsageOptions, command: Command) => usage(options, command));
}

function readGroups(text: string): Reading<readonly UsageGroup[]> {
  const groups = text.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.trim()));
  const known = groups.filter((group) => group !== undefined);
  if (known.length === groups.length && new Set(known).size === known.length) return { ok: true, value: known };
  return { ok: false, expected: `Allowed choices are ${USAGE_GROUPS.join(', ')}, or several of them: key,model.` };
}

async function usage(options: UsageOptions, command: Command): Promise<void> {
  const { since, until, chart, svg } = options;
  const { json } = globalOptions(command);
  // Commander checks conflicts between options of one command only, and --json is an option of the program.
  if (options.csv && json) command.error('error: --csv and --json cannot be used together');
  const plot = chart ? '--chart' : svg === undefined ? undefined : '--svg';
  if (plot !== undefined && (options.csv || json)) {
    command.error(`error: ${plot} draws a plot; for its figures use --by hour or --by day with --json or --csv`);
  }
  if (since !== undefined && until !== undefined && since >= until) {
    command.error('error: --since must be before --until');
  }
  await withState(command, async (state) => {
    const key = options.key === undefined ? undefined : await findKey(options.key, state, { withDeleted: true });
    const group = await groupOf(options.group, state);
    const { model } = options;
    const filter = { keyId: key?.id, groupId: group?.id, model, names: namesOf(options) };
    if (plot !== undefined) {
      const names = [key?.name, group && levelWord(group), model, ...Object.values(filter.names)];
      return plotUsage({ filter, of: names.filter((name) => name !== undefined), ...options }, command, state);
    }
    await report({ ...filter, sinceMs: since, untilMs: until }, options, command, state);
  });
}

function namesOf(options: UsageOptions): Partial<Record<NameKind, string>> {
  return Object.fromEntries(NAME_KINDS.flatMap((kind) => (options[kind] === undefined ? [] : [[kind, options[kind]]])));
}

async function report(
  filter: Omit<UsageQuery, 'by' | 'and'>,
  options: UsageOptions,
  command: Command,
  state: State,
): Promise<void> {
  const [by, ...and] = options.by;
  const query = { ...filter, by, and };
  const { rows, droppedDays } = await state.usage.report(query);
  for (const note of (isFromJournal(query) ? notesOnJournal : notesOnDays)(droppedDays)) notice(note);
  if (options.csv) return printCsv(usageCsv(rows, ...options.by));
  // The cache counts its savings without names and groups.
  const isCounted = filter.groupId === undefined && Object.keys(filter.names ?? {}).length === 0;
  const saved = isCounted ? await readSaved(state.config.cachePath, filter) : [];
  if (globalOptions(command).json) {
    return printJson(rows.map((row) => ({ ...usageJson(row, ...options.by), ...savedJson(row, options.by, saved) })));
  }
  if (rows.length === 0) return printLine(NO_USAGE);
  printTable(usageTable(rows, options.by, look()));
  const line = savedLine(saved);
  if (line !== undefined) printLine(line);
}

function notesOnDays(dropped: readonly string[]): readonly string[] {
  return dropped.map(
    (day) =>
      `note: the journal no longer has the requests of ${day} (journal_retention); use a range of whole days to include it`,
  );
}

/** Hours, and most combinations with names, have no sums. */
function notesOnJournal(dropped: readonly string[]): readonly string[] {
  if (dropped.length === 0) return [];
  const days = dropped.length === 1 ? dropped[0] : `${dropped[0]} to ${dropped.at(-1)}`;
  return [
    `note: the requests of ${days} are missing: the journal no longer has them (journal_retention), and this report has no sums by day`,
  ];
}

/** Columns shown only if a row has a figure for them. */
const CACHE_COLUMNS: readonly { readonly head: string; tokens(row: Sums): number }[] = [
  { head: 'CACHED', tokens: ({ cachedTokens }) => cachedTokens },
  { head: 'WRITTEN', tokens: ({ cacheWriteTokens }) => cacheWriteTokens },
];

/** The width of the bar of a row, in columns. */
const BAR = 10;

/** Sums by grouping; on a terminal with the share of each in the whole, and a total. */
export function usageTable(rows: readonly UsageRow[], by: readonly UsageGroup[], look: Look): Table {
  const caches = CACHE_COLUMNS.filter(({ tokens }) => rows.some((row) => tokens(row) > 0));
  // Requests of nested groups count for each of them, so shares would exceed 100%.
  const hasShares = by.length > 0 && !by.includes('group') && look.room !== undefined;
  const figures = (row: Sums) => [
    count(row.requests),
    count(row.errors),
    count(row.promptTokens),
    ...caches.map(({ tokens }) => count(tokens(row))),
    count(row.completionTokens),
    count(row.promptTokens + row.completionTokens),
    exactUsd(row.costNanos),
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

/** The total, and the share of each row in its cost, or in its requests if the cost is 0. */
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
