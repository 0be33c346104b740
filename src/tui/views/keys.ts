/** The Keys view: a table of all keys, and the details of one. */

import { budgetsText } from '../../operator/budgets.ts';
import { forecastLimit, limitText } from '../../operator/forecast.ts';
import { ago, count, dateTime, short, usd, usdInColumn } from '../../operator/format.ts';
import { allowlistText, refusalReason } from '../../operator/messages.ts';
import { TIER_NAMES, TIER_TERMS } from '../../operator/terms.ts';
import { clean, fit, wrap } from '../../operator/text.ts';
import { bar, chart } from '../draw/chart.ts';
import { beside, bold, dim, type Line, span, type Tone } from '../draw/line.ts';
import { currentKey, shareOfLimit, shownKeys } from '../lists/keys.ts';
import type { KeyDetail, Model, StoredKey } from '../model.ts';
import { activityById } from '../select.ts';
import { type ListColumn, listView } from './list-view.ts';

const BAR = 6;
/** From this many rows on there is room for more details of a key. */
const TALL_ROWS = 36;

/** From this many columns on facts and figures of a key stand side by side. */
const SPLIT_COLUMNS = 60;

/** Columns for the labels of the facts. */
const LABEL = 9;

const MONTHLY = 'requests, tokens, cost: this month';

export function keys(model: Model, height: number): Line[] {
  const rows = shownKeys(model);
  const { length } = model.stored.keys;
  const open = model.keys.detail === undefined ? undefined : currentKey(model);
  return listView(model, height, {
    about: [dim(rows.length === length ? count(length) : `${count(rows.length)} of ${count(length)}`)],
    rows,
    columns: columnsOf(model),
    detail: open && ((width) => keyDetail(model, open, model.keys.detail, width)),
    empty: [[dim('No keys yet. Press n to create one.')]],
    aside: [dim(MONTHLY)],
  });
}

function columnsOf(model: Model): ListColumn<StoredKey>[] {
  const { nowMs } = model;
  // Without a gateway nobody counts.
  const isKnown = model.snapshot !== undefined || model.shared !== undefined;
  const activity = activityById(model);
  const usage = (read: 'requests' | 'tokens' | 'open', limitOf: (key: StoredKey) => number) => (key: StoredKey) => {
    const used = activity.get(key.record.id)?.[read] ?? 0;
    const limit = limitOf(key);
    const text = isKnown ? short(used) : '-';
    return [...bar(used, limit, BAR), { text: fit(` ${text}/${short(limit)}`, 12, 'right') }];
  };
  return [
    { head: 'NAME', field: 'name', width: 12, grows: true, middle: true, cell: ({ record }) => record.name },
    { head: 'KEY', width: 14, rank: 5, cell: ({ record }) => record.preview },
    { head: 'STATE', field: 'state', width: 8, cell: ({ record }) => [stateSpan(record.state)] },
    { head: 'REQUESTS/MIN', field: 'rpm', width: BAR + 12, cell: usage('requests', ({ limits }) => limits.rpm) },
    { head: 'TOKENS/MIN', field: 'tpm', width: BAR + 12, rank: 4, cell: usage('tokens', ({ limits }) => limits.tpm) },
    {
      head: 'CONCURRENT',
      field: 'open',
      width: BAR + 12,
      rank: 6,
      cell: usage('open', ({ limits }) => limits.concurrency),
    },
    {
      head: 'REQUESTS',
      field: 'requests',
      width: 8,
      align: 'right',
      rank: 2,
      cell: ({ month }) => short(month.requests),
    },
    { head: 'TOKENS', field: 'tokens', width: 7, align: 'right', rank: 7, cell: ({ month }) => short(month.tokens) },
    {
      head: 'COST (USD)',
      field: 'cost',
      width: 12,
      align: 'right',
      cell: ({ month }) => usdInColumn(month.costNanos, 2),
    },
    { head: 'OF LIMIT', field: 'limit', width: 8, align: 'right', rank: 1, cell: spendCell },
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

function stateSpan(state: string) {
  if (state === 'enabled') return span(state, { tone: 'good' });
  return state === 'disabled' ? span(state, { tone: 'warn' }) : span(state, { tone: 'bad' });
}

function lastUse(lastUsedMs: number | undefined, nowMs: number): string {
  return lastUsedMs === undefined ? 'never' : ago((nowMs - lastUsedMs) / 1000);
}

function spendCell(key: StoredKey): Line {
  const percent = shareOfLimit(key);
  if (percent === undefined) return [dim('-')];
  return [span(`${short(percent)}%`, { tone: percent >= 100 ? 'bad' : percent >= 75 ? 'warn' : 'good' })];
}

function keyDetail(
  model: Model,
  { record, limits, month, lastUsedMs }: StoredKey,
  detail: KeyDetail | undefined,
  width: number,
): Line[] {
  const isSplit = width >= SPLIT_COLUMNS;
  const half = isSplit ? Math.floor((width - 2) / 2) : width;
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
    [dim('spending '), { text: spendText(record.spendLimitNanos, month.costNanos) }],
    ...capLines(record.spendLimitNanos, month.costNanos, model.nowMs, half),
    ...(record.budgets.length === 0 ? [] : labelled('budgets', budgetsText(record.budgets, usd), half)),
    [dim('models   '), { text: clean(allowlistText(record.allowlist)) }],
    [dim('created  '), { text: dateTime(record.createdAtMs) }],
    ...(record.expiresAtMs === null ? [] : [[dim('expires  '), { text: dateTime(record.expiresAtMs) }]]),
    [dim('used     '), { text: lastUse(lastUsedMs, model.nowMs) }],
    [dim('refused  '), { text: refusedText(detail) }],
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
    [bold('Requests per day'), dim(`  30 days, max ${short(Math.max(0, ...days))}`)],
    ...chart(days, Math.min(30, half), isTall ? 4 : 1, { tone: 'accent' }),
  ];
  if (!isSplit) return [...facts, [], ...figures];
  return beside([
    { lines: facts, width: half },
    { lines: figures, width: half },
  ]);
}

/** When the key reaches its spend limit, if it goes on as this month. */
function capLines(limitNanos: bigint | null, costNanos: bigint, nowMs: number, width: number): Line[] {
  const forecast = limitText(forecastLimit(limitNanos, costNanos, nowMs));
  return forecast === undefined ? [] : labelled('forecast', forecast.text, width, forecast.tone);
}

/** A text beside its label, in as many lines as it needs. */
function labelled(label: string, text: string, width: number, tone?: Tone): Line[] {
  return wrap(text, width - LABEL).map((line, index) => [
    dim(fit(index === 0 ? label : '', LABEL)),
    span(line, { tone }),
  ]);
}

function spendText(limitNanos: bigint | null, costNanos: bigint): string {
  return limitNanos === null ? `${usd(costNanos)} USD, no limit` : `${usd(costNanos)} of ${usd(limitNanos)} USD`;
}

function refusedText(detail: KeyDetail | undefined): string {
  if (detail === undefined || detail.refusals.length === 0) return 'never this month';
  return detail.refusals
    .slice(0, 3)
    .map((row) => `${refusalReason(row) ?? row.code} (${short(row.requests)})`)
    .join(', ');
}
