/** Key presses in the views. */
import { NAME_KINDS, OTHER_NAMES } from '../../core/spent-by.ts';
import type { UsageGroup, UsageRow } from '../../state/usage.ts';
import { typed } from '../draw/typed.ts';
import { shownJournal } from '../lists/journal.ts';
import { currentKey } from '../lists/keys.ts';
import { shownRequests } from '../lists/live.ts';
import { shownModels } from '../lists/models.ts';
import { chosenItem, type OverviewItem, shownItems } from '../lists/overview.ts';
import { nameOfUsage, shownUsage } from '../lists/usage.ts';
import { exactWord } from '../lists/words.ts';
import { CHART_RANGES, type Model, RANGES, USAGE_CHOICES, type UsageOf } from '../model.ts';
import type { Click } from '../pointer.ts';
import { hasPane, keyNames } from '../select.ts';
import { troublesOf } from '../trouble.ts';
import { blockUser } from './block.ts';
import { onOverviewKey, withCharts } from './charts.ts';
import { exportForm } from './forms.ts';
import { onGroupsKey } from './group-actions.ts';
import { closeDetail, onKeyAction, openDetail } from './key-actions.ts';
import { onListKey, withFilter, withList, withOrder } from './lists.ts';
import { freezeRows, onLiveAction } from './live-actions.ts';
import { isLooking, readOn, stopped } from './requests.ts';
import { type Step, step } from './step.ts';
import { back, firstFilter, intoKey, intoRequests, intoTrouble, intoUsage } from './trail.ts';
import { after, before } from './turning.ts';

/** The filter word for any error, which `f` adds or removes. */
const ERRORS = 'err:*';

export function onViewKey(model: Model, key: string): Step {
  if (key === 'escape') return onEscape(model);
  const moved = onListKey(model, key);
  if (moved !== undefined) return onMoved(model, moved);
  switch (model.view) {
    case 'overview':
      if (key === 'n') return onKeyAction(model, undefined, key);
      return key === 'enter' ? onItem(model, chosenItem(model)) : onOverviewKey(model, key);
    case 'keys':
      return onKeysKey(model, key);
    case 'live':
      return onLiveKey(model, key);
    case 'requests':
      return onRequestsKey(model, key);
    case 'usage':
      return onUsageKey(model, key);
    case 'models':
      return key === 'enter' ? onCatalogModel(model) : step(model);
    case 'groups':
      return onGroupsKey(model, key);
  }
}

/** Handles a click in a view. A filter that is being typed stays as it is. */
export function onViewClick(typing: Model, { on, which }: Click): Step {
  const model = withList(typing, { isTyping: false });
  switch (on) {
    case 'row':
      if (which === model.lists[model.view].cursor) return onViewKey(model, 'enter');
      return onMoved(model, step(withList(model, { cursor: Number(which) })));
    case 'head':
      return onMoved(model, step(withOrder(model, String(which))));
    case 'trouble': {
      const trouble = troublesOf(model).find(({ about }) => about === which);
      return trouble === undefined ? step(model) : intoTrouble(model, trouble);
    }
    case 'chart_range': {
      const range = CHART_RANGES.find((each) => each === which);
      return range === undefined ? step(model) : withCharts(model, range);
    }
    case 'usage_group':
      return showUsage(model, { by: USAGE_CHOICES.find((each) => each === which) ?? model.usage.by });
    case 'usage_range':
      return showUsage(model, { range: RANGES.find((each) => each === which) ?? model.usage.range });
    case 'key':
    case 'view':
      return step(model);
  }
}

/** Loads the data of the row under the cursor after a move. */
function onMoved(before: Model, { model, effects }: Step): Step {
  switch (model.view) {
    case 'keys':
      if (before.keys.detail === undefined || hasPane(model)) return step(model, ...effects);
      return openDetail(model);
    case 'live':
      return step(freezeRows(model), ...effects);
    case 'requests':
      return effects.length > 0 ? step(model, ...effects) : readOn(goneOn(before, model));
    case 'overview':
    case 'usage':
    case 'models':
    case 'groups':
      return step(model, ...effects);
  }
}

/** Resumes a stopped search when the cursor moves down. */
function goneOn(before: Model, model: Model): Model {
  const isOn = model.lists.requests.cursor > before.lists.requests.cursor || isAtEnd(model);
  return isOn && model.requests.isStopped ? { ...model, requests: { ...model.requests, isStopped: false } } : model;
}

function isAtEnd({ requests, lists }: Model): boolean {
  return lists.requests.cursor >= requests.rows.length - 1;
}

/** In this order: stops a long search, closes the details, clears the typed part of the filter, goes back. */
function onEscape(model: Model): Step {
  const { view, lists, overview, keys, groups, live, requests } = model;
  if (view === 'requests' && isLooking(requests)) return step(stopped(model));
  if (view === 'overview' && overview.isOpen) return step({ ...model, overview: { isOpen: false } });
  if (view === 'keys' && keys.detail !== undefined && !hasPane(model)) return closeDetail(model);
  if (view === 'groups' && groups.isOpen) return step({ ...model, groups: { ...groups, isOpen: false } });
  if (view === 'live' && live.isOpen) return step(freezeRows({ ...model, live: { ...live, isOpen: false } }));
  if (view === 'requests' && requests.isOpen) return step({ ...model, requests: { ...requests, isOpen: false } });
  const filter = firstFilter(model);
  if (lists[view].filter.text !== filter) return withFilter(model, typed(filter));
  const before = back(model);
  if (before !== undefined) return before;
  return step(view === 'overview' ? withList(model, { cursor: -1 }) : model);
}

/** Opens an item of the Overview; without a cursor, the first trouble. */
function onItem(model: Model, chosen: OverviewItem | undefined): Step {
  const item = chosen ?? shownItems(model).find(({ kind }) => kind === 'trouble');
  switch (item?.kind) {
    case 'trouble':
      return intoTrouble(model, item.trouble);
    case 'key':
      return intoKey(model, keyNames(model)(item.key.id), item.key.id);
    case 'upstream': {
      const { upstream } = item.upstream;
      if (!model.overview.isOpen) return step({ ...model, overview: { isOpen: true } });
      return intoRequests(model, upstream, exactWord('upstream', upstream), ERRORS);
    }
    case undefined:
      return step(model);
  }
}

function onKeysKey(model: Model, key: string): Step {
  const current = currentKey(model);
  if (current === undefined) return onKeyAction(model, current, key);
  if (key !== 'enter') return onKeyAction(model, current, key);
  const { name } = current.record;
  return model.keys.detail === undefined ? openDetail(model) : intoRequests(model, name, exactWord('key', name));
}

function onLiveKey(model: Model, key: string): Step {
  const current = shownRequests(model)[model.lists.live.cursor];
  switch (key) {
    case 'f':
      return withErrors(model);
    case 'b':
      return blockUser(model);
    case 'enter':
      if (current === undefined) return step(model);
      return model.live.isOpen
        ? intoKey(model, current.id, current.key_id)
        : step(freezeRows({ ...model, live: { ...model.live, isOpen: true } }));
    default:
      return current === undefined ? step(model) : onLiveAction(model, current, key);
  }
}

function onRequestsKey(model: Model, key: string): Step {
  const current = shownJournal(model)[model.lists.requests.cursor];
  switch (key) {
    case 'f':
      return withErrors(model);
    case 'b':
      return blockUser(model);
    case 'enter':
      if (current === undefined) return step(model);
      return model.requests.isOpen || hasPane(model)
        ? intoKey(model, current.id, current.keyId)
        : step({ ...model, requests: { ...model.requests, isOpen: true } });
    case 'down':
    case 'j':
      // The list is empty, so the key only resumes the search.
      return readOn(goneOn(model, model));
    default:
      return step(model);
  }
}

/** Filters for failures; on the next press removes that filter. */
function withErrors(model: Model): Step {
  const words = model.lists[model.view].filter.text.split(' ').filter((word) => word !== '');
  const others = words.filter((word) => word !== ERRORS);
  return withFilter(model, typed((others.length < words.length ? others : [...words, ERRORS]).join(' ')));
}

function onUsageKey(model: Model, key: string): Step {
  const { by, range, rowsBy } = model.usage;
  switch (key) {
    case 'left':
      return showUsage(model, { by: before(USAGE_CHOICES, by) });
    case 'right':
      return showUsage(model, { by: after(USAGE_CHOICES, by) });
    case '[':
      return showUsage(model, { range: before(RANGES, range) });
    case ']':
      return showUsage(model, { range: after(RANGES, range) });
    case 'b':
      return blockUser(model);
    case 'w':
      return step({ ...model, dialog: exportForm(`usage-by-${rowsBy}.csv`) });
    case 'enter': {
      const row = shownUsage(model)[model.lists.usage.cursor];
      return row === undefined ? step(model) : onUsageRow(model, row);
    }
    default:
      return step(model);
  }
}

function showUsage(model: Model, show: Partial<Pick<Model['usage'], 'by' | 'range'>>): Step {
  const { by, range, of } = model.usage;
  const query = { by, range, of, ...show };
  const changed = withList({ ...model, usage: { ...model.usage, ...query } }, { cursor: 0 });
  return step(changed, { kind: 'load_usage', ...query });
}

/** Groups by the next kind that is not filtered yet; in the end, opens the requests. */
function onUsageRow(model: Model, row: UsageRow): Step {
  const { key, keyId, source } = row;
  const { range, of } = model.usage;
  const period = row.day ?? row.month ?? of.period;
  const narrowed: UsageOf = {
    ...of,
    ...(keyId !== undefined && { key: { id: keyId, name: key ?? keyId } }),
    ...(row.model !== undefined && { model: row.model }),
    ...(period !== undefined && { period }),
  };
  const by: UsageGroup | undefined =
    narrowed.model === undefined
      ? 'model'
      : narrowed.key === undefined
        ? 'key'
        : period === undefined
          ? 'day'
          : undefined;
  const named = nameWords(row, narrowed);
  if (named !== undefined) return intoRequests(model, nameOfUsage(row), ...named);
  if (source === undefined && by !== undefined) return intoUsage(model, nameOfUsage(row), { by, range, of: narrowed });
  return intoRequests(
    model,
    nameOfUsage(row),
    ...(narrowed.key === undefined ? [] : [exactWord('key', narrowed.key.name)]),
    ...(narrowed.model === undefined ? [] : [exactWord('model', narrowed.model)]),
    ...(period === undefined ? [] : [`day:${period}`]),
    ...(source === undefined ? [] : [exactWord('source', source)]),
  );
}

/** Returns filter words for the requests of a user, tag or app; undefined for the row of all names beyond the limit. */
function nameWords(row: UsageRow, { key, model, period }: UsageOf): string[] | undefined {
  const kind = NAME_KINDS.find((each) => row[each] !== undefined);
  const name = kind && row[kind];
  if (name === undefined || name === OTHER_NAMES) return undefined;
  return [
    name === '' ? `-${kind}:*` : exactWord(kind as string, name),
    ...(key === undefined ? [] : [exactWord('key', key.name)]),
    ...(model === undefined ? [] : [exactWord('model', model)]),
    ...(period === undefined ? [] : [`day:${period}`]),
  ];
}

function onCatalogModel(model: Model): Step {
  const chosen = shownModels(model)[model.lists.models.cursor];
  if (chosen === undefined) return step(model);
  // The row shows this month's figures, so the usage has the same range.
  return intoUsage(model, chosen.id, { by: 'key', range: 'this month', of: { model: chosen.id } });
}
