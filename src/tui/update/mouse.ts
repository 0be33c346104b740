/** What a click and the wheel do, as the keys that do the same. Pure. */
import type { Model, View } from '../model.ts';
import type { MouseReport } from '../mouse.ts';
import { rowsFromCursor, TABS_ROW, tabAt } from '../places.ts';

/** A view to go to, or keys to press. */
export type Meant =
  | { readonly kind: 'view'; readonly view: View }
  | { readonly kind: 'keys'; readonly keys: readonly string[] };

/** Dialogs in which arrows move: in others the wheel does nothing, and no dialog is clicked. */
const SCROLLED = new Set(['picker', 'palette', 'notice', 'done', 'credit_history']);

export function meantBy(model: Model, { action, column, row }: MouseReport): Meant {
  if (action !== 'click') {
    const isMoved = model.dialog === undefined || SCROLLED.has(model.dialog.kind);
    return pressing(isMoved ? [action === 'wheel_up' ? 'up' : 'down'] : []);
  }
  if (model.dialog !== undefined) return pressing([]);
  if (row === TABS_ROW) {
    const view = tabAt(column, model.columns);
    return view === undefined ? pressing([]) : { kind: 'view', view };
  }
  const distance = rowsFromCursor(model, row);
  if (distance === undefined) return pressing([]);
  if (distance === 0) return pressing(['enter']);
  return pressing(Array<string>(Math.abs(distance)).fill(distance < 0 ? 'up' : 'down'));
}

function pressing(keys: readonly string[]): Meant {
  return { kind: 'keys', keys };
}
