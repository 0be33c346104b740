/** The lists of all views, for moving the cursor and following rows. Pure. */
import type { Model, View } from '../model.ts';
import { GROUPS } from './groups.ts';
import { JOURNAL } from './journal.ts';
import { KEYS } from './keys.ts';
import { type Listed, shownOf, sortable, startsLow } from './list.ts';
import { LIVE } from './live.ts';
import { MODELS } from './models.ts';
import { OVERVIEW } from './overview.ts';
import { USAGE } from './usage.ts';
import { isUnreadable, wordsOf } from './words.ts';

/** A list without the type of its rows. */
interface AnyList {
  /** Returns the visible rows: the same array while they are unchanged. */
  shown(model: Model): readonly unknown[];
  ids(model: Model): string[];
  /** The fields that a filter can name. */
  readonly fields: readonly string[];
  /** The fields that can sort the list. */
  readonly sortable: readonly string[];
  startsLow(field: string): boolean;
  /** Returns the first invalid word of a filter, as it was typed. */
  unreadable(filter: string): string | undefined;
}

function anyList<Row>(view: View, list: Listed<Row>): AnyList {
  const shown = (model: Model) => shownOf(view, list, model);
  return {
    shown,
    ids: (model) => shown(model).map(list.idOf),
    fields: Object.keys(list.fields),
    sortable: sortable(list),
    startsLow: (field) => startsLow(list, field),
    unreadable: (filter) => {
      const wrong = wordsOf(filter, Object.keys(list.fields)).find((word) => {
        const field = word.field === undefined ? undefined : list.fields[word.field];
        return field !== undefined && isUnreadable(word, field.isText === true, field.isTime === true);
      });
      return wrong && `${wrong.field}${wrong.operator}${wrong.text}`;
    },
  };
}

export const LISTS: Readonly<Record<View, AnyList>> = {
  overview: anyList('overview', OVERVIEW),
  keys: anyList('keys', KEYS),
  live: anyList('live', LIVE),
  requests: anyList('requests', JOURNAL),
  usage: anyList('usage', USAGE),
  models: anyList('models', MODELS),
  groups: anyList('groups', GROUPS),
};
