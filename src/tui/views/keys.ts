/** The Keys view: a table of all keys, and the details of one. */

import { createElement as h, type ReactNode } from 'react';
import { utcDay } from '../../core/clock.ts';
import type { RefusedMinutes } from '../../observe/refusals.ts';
import { type Spending, weekSpending, weekStartMs } from '../../operator/forecast.ts';
import { ago, count, short, usd, usdInColumn } from '../../operator/format.ts';
import { allowlistText, refusalReason } from '../../operator/messages.ts';
import { outlookOf, standingWithin } from '../../operator/spending.ts';
import { TIER_NAMES, TIER_TERMS } from '../../operator/terms.ts';
import { clean, fit } from '../../operator/text.ts';
import { type Blocks, blockWidth, type ListColumn, ListView, longest } from '../components/list-view.ts';
import type { ViewProps } from '../components/view-props.ts';
import { SAMPLES_PER_COLUMN, spark } from '../draw/braille.ts';
import { bar, chart } from '../draw/chart.ts';
import { bold, dim, fitLine, type Line, type Span, span } from '../draw/line.ts';
import { currentKey, shownKeys } from '../lists/keys.ts';
import { localTime, zoneLabel } from '../local-time.ts';
import type { KeyDetail, Model, StoredGroup, StoredKey } from '../model.ts';
import { activityById, groupsById, hasPane, levelById } from '../select.ts';
import { BAR, boundLines, LABEL, leastState, MONEY_COLUMNS, MONTHLY, moneyCell, stateWidth } from './money.ts';
import { costPlot } from './plot.ts';

/** Minimum rows for the extended details of a key. */
const TALL_ROWS = 36;
/** Height of the cost plot in lines. */
const PLOT = 9;

/** Minimum columns for facts and figures in one line; in a pane, where the facts are never shortened. */
const SPLIT_COLUMNS = 60;
const SPLIT_PANE_COLUMNS = 80;

/** Columns for the last hour's refusals. */
const STRIP = 10;
const MINUTES_PER_SAMPLE = 60 / (STRIP * SAMPLES_PER_COLUMN);
const MOST_REASONS = 3;

export function KeysView({ model, height }: ViewProps): ReactNode {
  const rows = shownKeys(model);
  const { length } = model.stored.keys;
  const open = model.keys.detail === undefined ? undefined : currentKey(model);
  return h(ListView<StoredKey>, {
    model,
    height,
    about: [dim(rows.length === length ? count(length) : `${count(rows.length)} of ${count(length)}`)],
    rows,
    columns: columnsOf(model, rows),
    detail: open && ((width: number) => keyDetail(model, open, model.keys.detail, width)),
    empty: [[dim('No keys yet. Press n to create one.')]],
    aside: [dim(MONTHLY)],
  });
}

function columnsOf(model: Model, rows: readonly StoredKey[]): ListColumn<StoredKey>[] {
  const { nowMs } = model;
  // Without a gateway or a database no activity is known.
  const isKnown = model.snapshot !== undefined || model.shared !== undefined;
  const activity = activityById(model);
  const states = shownAround(model, rows).map((key) => standingSpan(key, model).text);
  const usage = (read: 'requests' | 'tokens' | 'open', limitOf: (key: StoredKey) => number) => (key: StoredKey) => {
    const used = activity.get(key.record.id)?.[read] ?? 0;
    const limit = limitOf(key);
    const text = isKnown ? short(used) : '-';
    return [...bar(used, limit, BAR), { text: fit(` ${text}/${short(limit)}`, 12, 'right') }];
  };
  const nameOf = ({ record }: StoredKey) => record.name;
  return [
    {
      head: 'NAME',
      field: 'name',
      width: 12,
      // In a narrow window the key's name takes precedence over its activity.
      least: longest(rows, nameOf, 10, 16),
      grows: true,
      middle: true,
      cell: nameOf,
    },
    ...(rows.some(({ record }) => record.groupId !== null)
      ? [
          {
            head: 'GROUP',
            field: 'group',
            width: longest(rows, (key) => groupOf(key, model), 6, 16),
            least: 6,
            middle: true as const,
            rank: 2,
            cell: (key: StoredKey) => groupOf(key, model),
          },
        ]
      : []),
    { head: 'KEY', width: 14, rank: 7, cell: ({ record }) => record.preview },
    {
      head: 'STATE',
      field: 'state',
      width: stateWidth(states),
      least: leastState(states, model.columns),
      cell: (key) => [standingSpan(key, model)],
    },
    { head: 'BUDGET (USD)', field: 'limit', width: MONEY_COLUMNS, cell: (key) => moneyCell(key, nowMs) },
    {
      head: 'REQUESTS/MIN',
      field: 'rpm',
      width: BAR + 12,
      rank: 1,
      cell: usage('requests', ({ limits }) => limits.rpm),
    },
    { head: 'TOKENS/MIN', field: 'tpm', width: BAR + 12, rank: 5, cell: usage('tokens', ({ limits }) => limits.tpm) },
    {
      head: 'IN FLIGHT',
      field: 'inflight',
      width: BAR + 12,
      rank: 6,
      cell: usage('open', ({ limits }) => limits.concurrency),
    },
    {
      head: 'REQUESTS',
      field: 'requests',
      width: 8,
      align: 'right',
      rank: 4,
      cell: ({ month }) => short(month.requests),
    },
    { head: 'TOKENS', field: 'tokens', width: 7, align: 'right', rank: 8, cell: ({ month }) => short(month.tokens) },
    {
      head: 'MONTH (USD)',
      field: 'cost',
      width: 12,
      align: 'right',
      rank: 2,
      cell: ({ month }) => usdInColumn(month.costNanos, 2),
    },
    {
      head: 'LAST USED',
      field: 'used',
      width: 9,
      align: 'right',
      rank: 3,
      cell: ({ lastUsedMs }) => lastUse(lastUsedMs, nowMs),
    },
  ];
}

/** Whether the key or group is served, considering its groups: `✕ spent by @nlp, resets 00:00 UTC`. */
export function standingSpan(level: StoredKey | StoredGroup, model: Model): Span {
  const { text, tone } = standingWithin(level, (id) => levelById(model, id), model.nowMs);
  return span(clean(text), { tone });
}

/** Returns the name of the surrounding group: `@nlp`; empty without one. */
export function groupOf({ record }: StoredKey | StoredGroup, model: Model): string {
  const group = groupsById(model).get(record.groupId ?? '')?.record.name;
  return group === undefined ? '' : `@${group}`;
}

/** Rows around the cursor: distant rows do not affect a column's width. */
function shownAround({ lists, rows: height }: Model, rows: readonly StoredKey[]): readonly StoredKey[] {
  const from = Math.max(0, lists.keys.cursor - height);
  return rows.slice(from, from + 2 * height);
}

function lastUse(lastUsedMs: number | undefined, nowMs: number): string {
  return lastUsedMs === undefined ? 'never' : ago((nowMs - lastUsedMs) / 1000);
}

function keyDetail(model: Model, key: StoredKey, detail: KeyDetail | undefined, width: number): Blocks {
  const { record, limits, month, bounds, lastUsedMs } = key;
  const isSplit = width >= (hasPane(model) ? SPLIT_PANE_COLUMNS : SPLIT_COLUMNS);
  const half = isSplit ? blockWidth(width, 2) : width;
  const isTall = model.rows >= TALL_ROWS;
  const own = (value: number | null, inForce: number, unit: string) =>
    `${count(inForce)}${unit}${value === null ? ' (tier)' : ''}`;
  const facts: Line[] = [
    [bold(clean(record.name))],
    [dim('id       '), { text: record.id }],
    ...TIER_NAMES.map((name): Line => {
      const { brief, unit } = TIER_TERMS[name];
      return [dim(fit(brief, LABEL)), { text: own(record[name], limits[name], unit) }];
    }),
    [dim('state    '), standingSpan(key, model)],
    ...(record.groupId === null ? [] : [[dim('group    '), { text: clean(groupOf(key, model)) }]]),
    ...bounds.flatMap((bound) => boundLines(bound, outlookOf(bound, model.nowMs, weekOf(detail, model.nowMs)), half)),
    ...(record.spendLimitNanos === null ? [[dim('month    '), { text: `${usd(month.costNanos)} USD, no limit` }]] : []),
    [dim('models   '), { text: clean(allowlistText(record.allowlist)) }],
    [dim('created  '), { text: `${localTime(record.createdAtMs)}${zoneLabel(record.createdAtMs)}` }],
    ...(record.expiresAtMs === null
      ? []
      : [[dim('expires  '), { text: `${localTime(record.expiresAtMs)}${zoneLabel(record.expiresAtMs)}` }]]),
    [dim('used     '), { text: lastUse(lastUsedMs, model.nowMs) }],
    [dim('refused  '), { text: refusedText(detail) }],
    ...(detail?.refusedLately ?? []).slice(0, MOST_REASONS).map((each) => refusedStrip(each, half)),
  ];
  const byModel: Line[] = (detail?.byModel ?? [])
    .slice(0, isTall ? 8 : 4)
    .map((row) => [
      { text: fit(row.model ?? '', Math.max(10, half - 22)) },
      { text: ` ${fit(short(row.requests), 7, 'right')} ${fit(usdInColumn(row.costNanos, 2), 12, 'right')}` },
    ]);
  const days = (detail?.byDay ?? []).map(({ requests }) => requests);
  const figures: Line[] = [
    [bold('This month by model'), dim('   requests, USD')],
    ...(byModel.length > 0 ? byModel : [[dim('none yet')]]),
    [],
    ...(isTall
      ? costPlot(model, half, PLOT)
      : [
          [bold('Requests per day'), dim(`  30 days, max ${short(Math.max(0, ...days))}`)],
          ...chart(days, Math.min(30, half), 1, { tone: 'accent' }),
        ]),
  ];
  return isSplit ? [facts, figures] : [[...facts, [], ...figures]];
}

/** Returns the spending of the last seven days; undefined until it is read. */
function weekOf(detail: KeyDetail | undefined, nowMs: number): Spending | undefined {
  const first = utcDay(weekStartMs(nowMs));
  const days = (detail?.byDay ?? []).filter(({ day = '', requests }) => day >= first && requests > 0);
  return days.length === 0 ? undefined : weekSpending(days, nowMs);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

/** Refusals in the last hour: their course, their number, and the first one's time. */
function refusedStrip({ code, reason, minutes, first_at_ms: firstAtMs }: RefusedMinutes, width: number): Line {
  const samples = Array.from({ length: STRIP * SAMPLES_PER_COLUMN }, (_, index) =>
    sumOf(minutes.slice(index * MINUTES_PER_SAMPLE, (index + 1) * MINUTES_PER_SAMPLE)),
  );
  const text = ` ${short(sumOf(minutes))} since ${localTime(firstAtMs).slice(11, 16)} ${refusalReason({ code, reason }) ?? code.replaceAll('_', ' ')}`;
  return fitLine([dim(fit('', LABEL)), span(spark(samples, STRIP), { tone: 'warn' }), { text }], width);
}

function refusedText(detail: KeyDetail | undefined): string {
  if (detail === undefined || detail.refusals.length === 0) return 'never this month';
  return detail.refusals
    .slice(0, 3)
    .map((row) => `${refusalReason(row) ?? row.code} (${short(row.requests)})`)
    .join(', ');
}
