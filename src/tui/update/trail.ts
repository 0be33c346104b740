/** Opens the data behind a row in another view, and returns from it. Pure. */
import { NOTHING_TYPED, typed } from '../draw/typed.ts';
import { shownRows } from '../lists/groups.ts';
import { shownKeys } from '../lists/keys.ts';
import { shownItems } from '../lists/overview.ts';
import { FIRST_LISTS, LIVE_AT_TOP, type Model, type Place, type View } from '../model.ts';
import { groupsById } from '../select.ts';
import type { Trouble } from '../trouble.ts';
import { historyToLoad } from './charts.ts';
import { withinRows } from './lists.ts';
import { searched } from './requests.ts';
import { type Step, step } from './step.ts';

/** Maximum steps that Esc can go back. */
const MAX_TRAIL = 20;

/** Opens a view from its top with a filter; Esc returns to the current state. `label`: the chosen row. */
function into(model: Model, label: string, view: View, filter = ''): Model {
  const { lists, overview, keys, groups, live, requests, usage } = model;
  const place: Place = { label, filter, view: model.view, lists, overview, keys, groups, live, requests, usage };
  return {
    ...model,
    view,
    trail: [...model.trail, place].slice(-MAX_TRAIL),
    lists: { ...lists, [view]: { ...FIRST_LISTS[view], filter: typed(filter) } },
    live: LIVE_AT_TOP,
    requests: { ...requests, isOpen: false },
  };
}

/** Returns to the previous place; undefined at the beginning. */
export function back(model: Model): Step | undefined {
  const place = model.trail.at(-1);
  if (place === undefined) return undefined;
  const { label: _label, filter: _filter, ...left } = place;
  // A new search number drops a page requested by the view that is being left.
  const search = model.requests.search + 1;
  const restored = withinRows({
    ...model,
    ...left,
    trail: model.trail.slice(0, -1),
    live: LIVE_AT_TOP,
    requests: { ...left.requests, search },
  });
  switch (restored.view) {
    case 'usage': {
      const { by, range, of } = restored.usage;
      return step(restored, { kind: 'load_usage', by, range, of });
    }
    case 'requests':
      return left.requests.isReading ? searched(restored) : step(restored);
    case 'overview':
      return step(restored, ...historyToLoad(restored));
    case 'keys':
    case 'live':
    case 'models':
    case 'groups':
      return step(restored);
  }
}

/** Returns to the place at which the trail had this length. */
export function backTo(model: Model, trailLength: number): Step {
  let at = step(model);
  while (at.model.trail.length > trailLength) at = back(at.model) ?? at;
  return at;
}

/** Returns the filter with which the view was opened. */
export function firstFilter({ trail }: Model): string {
  return trail.at(-1)?.filter ?? '';
}

/** Opens the requests in the journal that match these words. */
export function intoRequests(model: Model, label: string, ...words: readonly string[]): Step {
  return searched(into(model, label, 'requests', words.join(' ')));
}

/** Opens the usage of one object, grouped by another kind. */
export function intoUsage(model: Model, label: string, usage: Pick<Model['usage'], 'by' | 'range' | 'of'>): Step {
  const next = into(model, label, 'usage');
  return step({ ...next, usage: { ...next.usage, ...usage, rows: [] } }, { kind: 'load_usage', ...usage });
}

/** Opens the details of a key. */
export function intoKey(model: Model, label: string, keyId: string): Step {
  const next = into(model, label, 'keys');
  const cursor = shownKeys(next).findIndex(({ record }) => record.id === keyId);
  // A deleted key may remain only as a name.
  if (cursor < 0) return step(model);
  const lists = { ...next.lists, keys: { ...next.lists.keys, cursor } };
  const detail = { keyId, byModel: [], byDay: [], refusals: [], refusedLately: [] };
  return step({ ...next, lists, keys: { detail } }, { kind: 'load_key', keyId });
}

/** Opens the details of a group and unfolds its outer groups. */
export function intoGroup(model: Model, label: string, groupId: string): Step {
  const groups = groupsById(model);
  const unfolded = new Set(model.groups.unfolded);
  for (let outer = groups.get(groupId)?.record.groupId; outer; outer = groups.get(outer)?.record.groupId) {
    unfolded.add(outer);
  }
  const next = into({ ...model, groups: { ...model.groups, unfolded } }, label, 'groups');
  const cursor = shownRows(next).findIndex(({ id }) => id === groupId);
  // The group may have been deleted since.
  if (cursor < 0) return step(model);
  const lists = { ...next.lists, groups: { ...next.lists.groups, cursor } };
  return step({ ...next, lists, groups: { ...next.groups, isOpen: true } });
}

/** Opens the view that shows the cause of a trouble. */
export function intoTrouble(model: Model, { text, view, keyId, groupId, upstream }: Trouble): Step {
  if (groupId !== undefined) return intoGroup(model, text, groupId);
  if (keyId !== undefined) return intoKey(model, text, keyId);
  const { lists } = model;
  const unfiltered = { ...model, lists: { ...lists, [view]: { ...lists[view], filter: NOTHING_TYPED } } };
  const next = view === model.view ? unfiltered : into(model, text, view);
  return step(upstream === undefined ? next : atUpstream(next, upstream));
}

/** Opens the failures of a provider. */
export function intoUpstream(model: Model, upstream: string): Step {
  return step(atUpstream(into(model, upstream, 'overview'), upstream));
}

function atUpstream(next: Model, upstream: string): Model {
  const cursor = shownItems(next).findIndex((item) => item.kind === 'upstream' && item.upstream.upstream === upstream);
  return {
    ...next,
    lists: { ...next.lists, overview: { ...next.lists.overview, cursor } },
    overview: { isOpen: true },
  };
}
