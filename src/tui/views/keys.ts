/** The Keys view: a table of all keys, and the details of one. */
import { ago, count, dateTime, short, usd, usdInColumn } from '../../operator/format.ts';
import { allowlistText, refusalReason } from '../../operator/messages.ts';
import { clean, fit } from '../../operator/text.ts';
import { bar, chart } from '../draw/chart.ts';
import { beside, bold, dim, type Line, span, spread } from '../draw/line.ts';
import { type Column, table } from '../draw/table.ts';
import type { KeyDetail, Model, StoredKey } from '../model.ts';
import { activityOf, currentKey, shownKeys } from '../select.ts';

const BAR = 6;
/** From this many rows on there is room for more details of a key. */
const TALL_ROWS = 36;

const MONTHLY = 'requests, tokens, cost: this month';

export function keys(model: Model, height: number): Line[] {
  const rows = shownKeys(model);
  const { filter, isTyping, sort, cursor } = model.keys;
  const left: Line = [
    bold('Keys'),
    dim(
      `  ${count(rows.length)}${rows.length === model.stored.keys.length ? '' : ` of ${count(model.stored.keys.length)}`}, by ${sort}`,
    ),
    ...(filter !== '' || isTyping
      ? [{ text: '   filter: ' }, span(`${clean(filter)}${isTyping ? '▏' : ''}`, { tone: 'accent' })]
      : []),
  ];
  // A filter may need the whole line.
  const head = filter === '' && !isTyping ? spread(left, [dim(MONTHLY)], model.columns) : left;
  if (rows.length === 0) return [left, [], [dim(emptyText(model))]];
  const open = model.keys.detail === undefined ? undefined : currentKey(model);
  const detail = open === undefined ? [] : keyDetail(model, open, model.keys.detail);
  const tableHeight = Math.max(4, height - 1 - (detail.length > 0 ? detail.length + 1 : 0));
  const lines = table(columnsOf(model), rows, { width: model.columns, height: tableHeight, cursor });
  return [head, ...lines, ...(detail.length > 0 ? [[], ...detail] : [])].slice(0, height);
}

function emptyText({ stored, keys: { filter } }: Model): string {
  if (stored.keys.length === 0) return 'No keys yet. Press n to create one.';
  return `No key has ${JSON.stringify(clean(filter))} in its name, id or state.`;
}

function columnsOf(model: Model): Column<StoredKey>[] {
  const { nowMs } = model;
  const { keys: shown, busiest } = activityOf(model);
  // Without a gateway nobody counts.
  const isKnown = model.snapshot !== undefined || model.shared !== undefined;
  const activity = new Map(shown.concat(busiest).map((row) => [row.id, row]));
  const usage = (read: 'requests' | 'tokens' | 'open', limitOf: (key: StoredKey) => number) => (key: StoredKey) => {
    const used = activity.get(key.record.id)?.[read] ?? 0;
    const limit = limitOf(key);
    const text = isKnown ? short(used) : '-';
    return [...bar(used, limit, BAR), { text: fit(` ${text}/${short(limit)}`, 12, 'right') }];
  };
  return [
    { head: 'NAME', width: 12, grows: true, cell: ({ record }) => record.name },
    { head: 'KEY', width: 14, rank: 5, cell: ({ record }) => record.preview },
    { head: 'STATE', width: 8, cell: ({ record }) => [stateSpan(record.state)] },
    { head: 'REQUESTS/MIN', width: BAR + 12, cell: usage('requests', ({ limits }) => limits.rpm) },
    { head: 'TOKENS/MIN', width: BAR + 12, rank: 4, cell: usage('tokens', ({ limits }) => limits.tpm) },
    { head: 'CONCURRENT', width: BAR + 12, rank: 6, cell: usage('open', ({ limits }) => limits.concurrency) },
    { head: 'REQUESTS', width: 8, align: 'right', rank: 2, cell: ({ month }) => short(month.requests) },
    { head: 'TOKENS', width: 7, align: 'right', rank: 7, cell: ({ month }) => short(month.tokens) },
    { head: 'COST (USD)', width: 12, align: 'right', cell: ({ month }) => usdInColumn(month.costNanos, 2) },
    { head: 'OF LIMIT', width: 8, align: 'right', rank: 1, cell: spendCell },
    { head: 'LAST USED', width: 9, align: 'right', rank: 3, cell: ({ lastUsedMs }) => lastUse(lastUsedMs, nowMs) },
  ];
}

function stateSpan(state: string) {
  if (state === 'enabled') return span(state, { tone: 'good' });
  return state === 'disabled' ? span(state, { tone: 'warn' }) : span(state, { tone: 'bad' });
}

function lastUse(lastUsedMs: number | undefined, nowMs: number): string {
  return lastUsedMs === undefined ? 'never' : ago((nowMs - lastUsedMs) / 1000);
}

function spendCell({ record, month }: StoredKey): Line {
  if (record.spendLimitNanos === null) return [dim('-')];
  const percent = record.spendLimitNanos === 0n ? 100 : Number((month.costNanos * 100n) / record.spendLimitNanos);
  return [span(`${short(percent)}%`, { tone: percent >= 100 ? 'bad' : percent >= 75 ? 'warn' : 'good' })];
}

function keyDetail(
  model: Model,
  { record, limits, month, lastUsedMs }: StoredKey,
  detail: KeyDetail | undefined,
): Line[] {
  const half = Math.floor((model.columns - 2) / 2);
  const isTall = model.rows >= TALL_ROWS;
  const own = (value: number | null, inForce: number, unit = '') =>
    `${count(inForce)}${unit}${value === null ? ' (tier)' : ''}`;
  const facts: Line[] = [
    [bold(clean(record.name))],
    [dim('id       '), { text: record.id }],
    [dim('requests '), { text: own(record.rpm, limits.rpm, ' per minute') }],
    [dim('tokens   '), { text: own(record.tpm, limits.tpm, ' per minute') }],
    [dim('at once  '), { text: own(record.concurrency, limits.concurrency) }],
    [dim('spending '), { text: spendText(record.spendLimitNanos, month.costNanos) }],
    [dim('models   '), { text: clean(allowlistText(record.allowlist)) }],
    [dim('created  '), { text: dateTime(record.createdAtMs) }],
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
  return beside([
    { lines: facts, width: half },
    { lines: figures, width: half },
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
