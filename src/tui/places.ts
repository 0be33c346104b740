/** Where on the screen the tabs and the rows of the lists are, for clicks. Pure. */
import { widthOf } from '../operator/text.ts';
import { VIEW_NAMES } from './bindings.ts';
import { firstShown } from './draw/table.ts';
import { LISTS } from './lists/lists.ts';
import { type Model, VIEWS, type View } from './model.ts';
import { hasPane } from './select.ts';

export const TABS_ROW = 1;
/** Rows above the body of a view, and above and below it together. */
const ABOVE_BODY = 3;
const FRAME_ROWS = 5;
/** The title of a view, and the head of its table. */
const ABOVE_ROWS = 2;

/** From this many columns on there is room between the tabs, also beside a note that all is read-only. */
const LOOSE_COLUMNS = 87;
/** With fewer, the numbers stand at the names. */
const TIGHT_COLUMNS = 80;

/** What is before each tab. */
export function tabGap(columns: number): string {
  return columns >= LOOSE_COLUMNS ? ' ' : '';
}

/** A tab as it is drawn. */
export function tabText(view: View, columns: number): string {
  const number = VIEWS.indexOf(view) + 1;
  return columns < TIGHT_COLUMNS ? ` ${number}${VIEW_NAMES[view]}` : ` ${number} ${VIEW_NAMES[view]} `;
}

export function tabAt(column: number, columns: number): View | undefined {
  let end = 0;
  return VIEWS.find((view) => {
    end += tabGap(columns).length + widthOf(tabText(view, columns));
    return column < end;
  });
}

/** How many rows below the cursor the row of a list is that is drawn there; undefined if there is none. */
export function rowsFromCursor(model: Model, row: number): number | undefined {
  const shown = rowsShown(model);
  if (shown === undefined) return undefined;
  const { cursor } = model.lists[model.view];
  const rows = LISTS[model.view].shown(model).length;
  const place = row - ABOVE_BODY - ABOVE_ROWS;
  const index = firstShown(rows, shown, cursor) + place;
  return place >= 0 && place < shown && index < rows ? index - cursor : undefined;
}

/** The rows that a list has room for; undefined while details beneath share it, or a filter may take a line. */
function rowsShown(model: Model): number | undefined {
  const { view, lists, rows, keys, groups, live, requests } = model;
  const { filter, isTyping } = lists[view];
  if (isTyping || filter.text !== '') return undefined;
  const room = rows - FRAME_ROWS - ABOVE_ROWS;
  switch (view) {
    case 'overview':
      return undefined;
    case 'keys':
      return keys.detail === undefined || hasPane(model) ? room : undefined;
    case 'groups':
      return groups.isOpen && !hasPane(model) ? undefined : room;
    case 'live':
      return live.isOpen && !hasPane(model) ? undefined : room;
    case 'requests':
      return requests.isOpen && !hasPane(model) ? undefined : room;
    case 'usage':
      // Its last line is the sum.
      return room - 1;
    case 'models':
      return room;
  }
}
