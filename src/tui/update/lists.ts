/** The keys that work in every list: move, filter, sort. Pure. */
import { edited, type Typed, typed } from '../draw/typed.ts';
import { LISTS } from '../lists/lists.ts';
import type { ListState, Sort } from '../lists/state.ts';
import { FIRST_LISTS, type Model, type View } from '../model.ts';
import { isLooking, searched, stopped } from './requests.ts';
import { moveCursor, type Step, step } from './step.ts';

/** Approximate rows of the screen outside a list; the remaining ones are a page. */
const FRAME_ROWS = 8;

export function withList(model: Model, change: Partial<ListState>, view: View = model.view): Model {
  return { ...model, lists: { ...model.lists, [view]: { ...model.lists[view], ...change } } };
}

/** Moves the cursor to the last row if its own is gone: rows change while another view is open. */
export function withinRows(model: Model): Model {
  const { cursor } = model.lists[model.view];
  const { length } = LISTS[model.view].shown(model);
  return cursor < Math.max(1, length) ? model : withList(model, { cursor: Math.max(0, length - 1) });
}

/** Handles a key press; undefined for other keys. */
export function onListKey(model: Model, key: string): Step | undefined {
  const { view } = model;
  const { cursor, sort } = model.lists[view];
  const { length } = LISTS[view].shown(model);
  const next = length === 0 ? undefined : moveCursor(cursor, key, length, Math.max(1, model.rows - FRAME_ROWS));
  if (next !== undefined) return step(withList(model, { cursor: next }));
  switch (key) {
    case '/':
      return step(withList(model, { isTyping: true, filter: forNextWord(model.lists[view].filter) }));
    case 's':
      return step(inOrder(model, nextSort(view, sort)));
    case 'S':
      return step(sort === undefined ? model : inOrder(model, reversed(sort)));
    default:
      return undefined;
  }
}

/** Appends a blank, so that further typing starts a new word. */
function forNextWord({ text }: Typed): Typed {
  return typed(text === '' || text.endsWith(' ') ? text : `${text} `);
}

/** Handles a key press while the filter is being typed. */
export function onFilterKey(model: Model, key: string): Step {
  if (key === 'enter' || key === 'escape') {
    const done = withList(model, { isTyping: false });
    const isStop = key === 'escape' && model.view === 'requests' && isLooking(model.requests);
    return step(isStop ? stopped(done) : done);
  }
  const { filter } = model.lists[model.view];
  const next = edited(filter, key);
  if (next === undefined) return step(model);
  return next.text === filter.text ? step(withList(model, { filter: next })) : withFilter(model, next);
}

/** Sets the filter and moves to the top of the list. */
export function withFilter(model: Model, filter: Typed): Step {
  const next = withList(model, { filter, cursor: firstOf(model.view) });
  return next.view === 'requests' ? searched(next) : step({ ...next, keys: { detail: undefined } });
}

/** Returns the initial cursor: -1 in the Overview. */
function firstOf(view: View): number {
  return view === 'overview' ? -1 : 0;
}

/** Sorts by a column; by the current one, in the other direction. */
export function withOrder(model: Model, by: string): Model {
  const { view } = model;
  const { sort } = model.lists[view];
  return inOrder(model, sort?.by === by ? reversed(sort) : { by, isDown: !LISTS[view].startsLow(by) });
}

function inOrder(model: Model, sort: Sort | undefined): Model {
  return withList(model, { sort, cursor: firstOf(model.view) });
}

function reversed(sort: Sort): Sort {
  return { ...sort, isDown: !sort.isDown };
}

/** Returns the sort by the next column; after the last one, by the first. */
function nextSort(view: View, sort: Sort | undefined): Sort | undefined {
  const { sortable, startsLow } = LISTS[view];
  const by = sortable[sort === undefined ? 0 : sortable.indexOf(sort.by) + 1];
  return by === undefined ? FIRST_LISTS[view].sort : { by, isDown: !startsLow(by) };
}
