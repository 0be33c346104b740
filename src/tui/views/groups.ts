/** The Groups view: the tree of groups, keys and end users with their spending, and the details of one row. */
import { createElement as h, type ReactNode } from 'react';
import { count, countOf, short, usd, usdInColumn } from '../../operator/format.ts';
import { allowlistText } from '../../operator/messages.ts';
import { outlookOf, standingOf } from '../../operator/spending.ts';
import { limitTexts, TIER_NAMES, TIER_TERMS, userLimitTexts } from '../../operator/terms.ts';
import { clean, fit, wrap } from '../../operator/text.ts';
import type { LevelTerms, Owner } from '../../state/keys.ts';
import { isUnlimited } from '../../state/levels.ts';
import { type Blocks, blockWidth, type ListColumn, ListView } from '../components/list-view.ts';
import type { ViewProps } from '../components/view-props.ts';
import { bold, dim, type Line, type Span, span } from '../draw/line.ts';
import {
  currentRow,
  type GroupRow,
  isBlocked,
  keysOf,
  levelOf,
  nameOfRow,
  ownerLevelOf,
  shownRows,
} from '../lists/groups.ts';
import { localTime, zoneLabel } from '../local-time.ts';
import type { Model } from '../model.ts';
import { plotQuery } from '../plot-query.ts';
import { hasPane } from '../select.ts';
import { groupOf, standingSpan } from './keys.ts';
import { boundLines, LABEL, leastState, MONEY_COLUMNS, MONTHLY, moneyCell, stateWidth } from './money.ts';
import { costPlot } from './plot.ts';

export function GroupsView({ model, height }: ViewProps): ReactNode {
  const rows = shownRows(model);
  const current = currentRow(model);
  const isOpen = model.groups.isOpen || hasPane(model);
  const { length } = model.stored.groups;
  return h(ListView<GroupRow>, {
    model,
    height,
    about: [dim(length === 0 ? 'none yet: n creates one' : count(length))],
    rows,
    columns: columnsOf(model, rows),
    detail: isOpen ? (width) => detailOf(model, current, width) : undefined,
    empty: [[dim('No groups yet. Press n to create one.')]],
    aside: [dim(MONTHLY)],
  });
}

function columnsOf(model: Model, rows: readonly GroupRow[]): ListColumn<GroupRow>[] {
  const { nowMs } = model;
  const states = rows.map((row) =>
    standingSpans(row, model)
      .map(({ text }) => text)
      .join(''),
  );
  const figure = (read: (level: NonNullable<ReturnType<typeof levelOf>>) => string) => (row: GroupRow) => {
    const level = levelOf(row);
    return level === undefined ? '' : read(level);
  };
  return [
    { head: 'NAME', field: 'name', width: 16, least: 14, grows: true, middle: true, cell: nameCell },
    { head: 'KIND', field: 'kind', width: 5, rank: 5, cell: ({ kind }) => (levelKinds.has(kind) ? kind : '') },
    {
      head: 'STATE',
      field: 'state',
      width: stateWidth(states),
      least: leastState(states, model.columns),
      cell: (row) => standingSpans(row, model),
    },
    {
      head: 'BUDGET (USD)',
      field: 'limit',
      width: MONEY_COLUMNS,
      cell: (row) => {
        const level = levelOf(row);
        return level === undefined ? '' : moneyCell(level, nowMs);
      },
    },
    {
      head: 'KEYS',
      field: 'keys',
      width: 6,
      align: 'right',
      rank: 3,
      cell: (row) => {
        const keys = keysOf(row);
        return keys === undefined ? '' : short(keys);
      },
    },
    {
      head: 'REQUESTS',
      field: 'requests',
      width: 8,
      align: 'right',
      rank: 2,
      cell: figure(({ month }) => short(month.requests)),
    },
    {
      head: 'TOKENS',
      field: 'tokens',
      width: 7,
      align: 'right',
      rank: 6,
      cell: figure(({ month }) => short(month.tokens)),
    },
    {
      head: 'MONTH (USD)',
      field: 'cost',
      width: 12,
      align: 'right',
      rank: 1,
      cell: figure(({ month }) => usdInColumn(month.costNanos, 2)),
    },
    { head: 'EACH END USER', width: 24, least: 14, grows: true, rank: 7, cell: usersCell },
  ];
}

const levelKinds: ReadonlySet<GroupRow['kind']> = new Set(['group', 'key', 'user']);

/** The name, indented by depth, with `▸` if it can be unfolded and `▾` if it is unfolded. */
function nameCell(row: GroupRow): string {
  const sign = row.isUnfolded === undefined ? ' ' : row.isUnfolded ? '▾' : '▸';
  return `${'  '.repeat(row.depth)}${sign} ${clean(nameOfRow(row))}`;
}

function usersCell(row: GroupRow): string {
  const owner = ownerOf(row);
  return owner === undefined ? '' : usersText(owner);
}

/** Returns the row's owner of end users, if any. */
function ownerOf(row: GroupRow): Owner | undefined {
  return ownerLevelOf(row)?.record;
}

function usersText({ userLimits }: Owner): string {
  return userLimits === null || isUnlimited(userLimits) ? '' : userLimitTexts(userLimits, usd).join(', ');
}

function standingSpans(row: GroupRow, model: Model): Span[] {
  const owner = ownerLevelOf(row);
  if (owner !== undefined) return [standingSpan(owner, model)];
  if (row.kind !== 'user') return [];
  if (isBlocked(row)) return [span('blocked', { tone: 'warn' })];
  const { text, tone } = standingOf({ state: 'enabled', expiresAtMs: null }, row.level.bounds, model.nowMs);
  return [span(text, { tone })];
}

/** The details of a row, and the plot of its cost. */
function detailOf(model: Model, row: GroupRow | undefined, width: number): Blocks {
  const level = row && levelOf(row);
  if (row === undefined || level === undefined) return [];
  const isSplit = !hasPane(model) && width >= SPLIT_COLUMNS && plotQuery(model) !== undefined;
  const half = isSplit ? blockWidth(width, 2) : width;
  const facts = factsOf(model, row, half);
  const plot = costPlot(model, half, PLOT);
  return isSplit ? [facts, plot] : [[...facts, ...(hasPane(model) ? [[], ...plot] : [])]];
}

/** Minimum columns for facts and plot in one line. */
const SPLIT_COLUMNS = 100;
/** Height of the cost plot in lines. */
const PLOT = 11;

/** The row's limits, a bar for each budget, and its outer groups. */
function factsOf(model: Model, row: GroupRow, width: number): Line[] {
  const level = levelOf(row);
  if (level === undefined) return [];
  const { month, bounds } = level;
  return [
    [bold(clean(nameOfRow(row)))],
    ...placeLines(model, row),
    labelled('state', standingSpans(row, model)),
    ...limitLines(row),
    ...bounds.flatMap((bound) => boundLines(bound, outlookOf(bound, model.nowMs), width)),
    labelled('month', [{ text: `${countOf(month.requests, 'request')}, ${usd(month.costNanos)} USD` }]),
    ...ownerLines(row, width),
  ];
}

function labelled(label: string, spans: Line): Line {
  return [dim(fit(label, LABEL)), ...spans];
}

function placeLines(model: Model, row: GroupRow): Line[] {
  const level = ownerLevelOf(row);
  const outer = level === undefined ? '' : groupOf(level, model);
  const id = labelled('id', [{ text: clean(row.id) }]);
  if (row.kind === 'user') return [labelled('of', [{ text: clean(row.level.owner.name) }])];
  return outer === '' ? [id] : [id, labelled('group', [{ text: clean(outer) }])];
}

/** The limits of a group or an end user. A key's limits default to those of its tier. */
function limitLines(row: GroupRow): Line[] {
  switch (row.kind) {
    case 'group':
      return tierLines(row.level.record, 'no limit');
    case 'key':
      return tierLines(row.level.limits, '');
    case 'user': {
      const { own, terms } = row.level;
      const texts = own === undefined ? [] : limitTexts(own, usd);
      return [...tierLines(terms, 'no limit'), labelled('own', [{ text: texts.join(', ') || 'nothing' }])];
    }
    case 'rest':
    case 'page':
      return [];
  }
}

function tierLines(limits: Pick<LevelTerms, (typeof TIER_NAMES)[number]>, none: string): Line[] {
  return TIER_NAMES.map((name) => {
    const { brief, unit } = TIER_TERMS[name];
    const limit = limits[name];
    return labelled(brief, [{ text: limit === null ? none : `${count(limit)}${unit}` }]);
  });
}

function ownerLines(row: GroupRow, width: number): Line[] {
  const owner = ownerOf(row);
  if (owner === undefined) return [];
  const users = wrap(clean(usersText(owner)) || 'no limits of their own', width - LABEL);
  const keys = keysOf(row);
  return [
    labelled('models', [{ text: clean(allowlistText(owner.allowlist)) }]),
    ...(keys === undefined ? [] : [labelled('keys', [{ text: count(keys) }])]),
    ...users.map((text, index) => labelled(index === 0 ? 'users' : '', [{ text }])),
    labelled('created', [{ text: `${localTime(owner.createdAtMs)}${zoneLabel(owner.createdAtMs)}` }]),
  ];
}
