/** The plot of the open view: the cost over time of the row under the cursor. Pure. */
import { NAME_KINDS, OTHER_NAMES } from '../core/spent-by.ts';
import type { HistoryFilter } from '../operator/cost-history.ts';
import { currentRow, nameOfRow } from './lists/groups.ts';
import { currentKey } from './lists/keys.ts';
import { nameOfUsage, shownUsage } from './lists/usage.ts';
import type { ComparedUsage, Model, PlotQuery, Range, UsageOf } from './model.ts';
import { hasPane } from './select.ts';

const NO_FILTER = { keyId: undefined, groupId: undefined, model: undefined } as const;
const DETAIL_RANGE = '7d';
const RANGES: Readonly<Record<Range, PlotQuery['range']>> = {
  today: '24h',
  '24h': '24h',
  '7d': '7d',
  '30d': '30d',
  'this month': '30d',
  all: '30d',
};

/** Returns the plot's query; undefined for a view without a plot. */
export function plotQuery(model: Model): PlotQuery | undefined {
  switch (model.view) {
    case 'usage':
      return usageQuery(model);
    case 'keys': {
      const key = currentKey(model)?.record;
      if (key === undefined || (model.keys.detail === undefined && !hasPane(model))) return undefined;
      return { filter: { ...NO_FILTER, keyId: key.id }, title: key.name, range: DETAIL_RANGE };
    }
    case 'groups': {
      const row = currentRow(model);
      if (row === undefined || !(model.groups.isOpen || hasPane(model))) return undefined;
      const filter = row.kind === 'group' ? { groupId: row.id } : row.kind === 'key' ? { keyId: row.id } : undefined;
      return filter && { filter: { ...NO_FILTER, ...filter }, title: nameOfRow(row), range: DETAIL_RANGE };
    }
    case 'overview':
    case 'live':
    case 'requests':
    case 'models':
      return undefined;
  }
}

/** A row of a day, hour or month is a part of the time axis, so its plot shows the whole total. */
function usageQuery(model: Model): PlotQuery | undefined {
  const { of, range, rowsBy } = model.usage;
  if (of.period !== undefined) return undefined;
  const isTime = rowsBy === 'hour' || rowsBy === 'day' || rowsBy === 'month' || rowsBy === 'source';
  const row = isTime ? undefined : shownUsage(model)[model.lists.usage.cursor];
  const title = row === undefined ? 'all requests' : nameOfUsage(row);
  return { filter: filterOf(row, of), title, range: RANGES[range] };
}

function filterOf(row: ComparedUsage | undefined, { key, model }: UsageOf): HistoryFilter {
  const kind = NAME_KINDS.find((each) => row?.[each] !== undefined && row[each] !== OTHER_NAMES);
  return {
    keyId: row?.keyId ?? key?.id,
    groupId: row?.groupId,
    model: row?.model ?? model,
    ...(kind !== undefined && { names: { [kind]: row?.[kind] ?? '' } }),
  };
}

/** Whether two queries read the same plot. */
export function isSamePlot(one: PlotQuery | undefined, other: PlotQuery | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
