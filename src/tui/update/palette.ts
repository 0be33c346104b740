/** The palette: finds every action and object by a few characters of its name. Pure. */
import { OTHER_NAMES } from '../../core/spent-by.ts';
import { SECTIONS, VIEW_NAMES } from '../bindings.ts';
import { edited, NOTHING_TYPED } from '../draw/typed.ts';
import { fuzzyScore, queryWords } from '../fuzzy.ts';
import { currentKey } from '../lists/keys.ts';
import { type Dialog, type Model, VIEWS, type View } from '../model.ts';
import { moveCursor, type Step, step } from './step.ts';

export type PaletteDialog = Extract<Dialog, { kind: 'palette' }>;

/** The effect of choosing an entry. */
export type Choice =
  | { readonly kind: 'view'; readonly view: View }
  /** Presses a key in the view; undefined for the open view. */
  | { readonly kind: 'press'; readonly key: string; readonly view: View | undefined }
  | { readonly kind: 'key'; readonly keyId: string }
  | { readonly kind: 'group'; readonly groupId: string }
  | { readonly kind: 'model'; readonly id: string }
  | { readonly kind: 'upstream'; readonly upstream: string }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'request'; readonly id: string };

export interface Entry {
  /** The type of the entry. */
  readonly of: string;
  readonly text: string;
  /** The equivalent keys. */
  readonly shown: string;
  readonly choice: Choice;
  /** The searched text, in lower case. */
  readonly searched: string;
}

/** Maximum matches; typing one more character narrows them down. */
const MAX_FOUND = 200;
/** Maximum lines, so that the view beneath stays visible. */
const MAX_LINES = 14;
/** Rows outside the entries: the window's status and hints, the frame, the field, and the lines around it. */
const AROUND_ROWS = 8;

/** Returns the number of visible entries. */
export function paletteRoom(rows: number): number {
  return Math.max(1, Math.min(MAX_LINES, rows - AROUND_ROWS));
}

export function openPalette(model: Model): Step {
  return step({ ...model, dialog: { kind: 'palette', query: NOTHING_TYPED, cursor: 0 } });
}

/** Handles every key press except Enter. */
export function onPaletteKey(model: Model, palette: PaletteDialog, key: string): Step {
  const typedKey = [...key].length === 1;
  const cursor = typedKey || key === 'home' || key === 'end' ? undefined : moved(model, palette, key);
  if (cursor !== undefined) return step({ ...model, dialog: { ...palette, cursor } });
  const query = edited(palette.query, key);
  if (query === undefined) return step(model);
  const isSame = query.text === palette.query.text;
  return step({ ...model, dialog: { ...palette, query, cursor: isSame ? palette.cursor : 0 } });
}

function moved(model: Model, { query, cursor }: PaletteDialog, key: string): number | undefined {
  const rows = found(model, query.text).length;
  return moveCursor(Math.min(cursor, Math.max(0, rows - 1)), key, rows, paletteRoom(model.rows));
}

/** Returns the entry under the cursor; undefined without a match. */
export function chosenEntry(model: Model, { query, cursor }: PaletteDialog): Entry | undefined {
  const entries = found(model, query.text);
  return entries[Math.min(cursor, entries.length - 1)];
}

interface Found {
  /** The inputs of the result, compared by identity. */
  readonly of: readonly unknown[];
  readonly query: string;
  /** All matches, and the best of them in order. */
  readonly matching: readonly Entry[];
  readonly best: readonly Entry[];
}

/** The last result. A key press uses it to move and to draw, and a longer query searches only its matches. */
let last: Found | undefined;

/** Returns the entries that match the query, best first. */
export function found(model: Model, query: string): readonly Entry[] {
  const of = [
    model.stored.keys,
    model.stored.groups,
    model.stored.models,
    model.view,
    model.isReadOnly,
    currentKey(model),
    model.groups.users,
    model.requests.rows,
    namesOfUpstreams(model),
  ];
  const known = last !== undefined && of.every((part, index) => part === last?.of[index]) ? last : undefined;
  if (known?.query === query) return known.best;
  const isLonger = known !== undefined && query.startsWith(known.query);
  const entries = isLonger ? known.matching : [...actions(model), ...named(model)];
  const { matching, best } = matches(entries, queryWords(query));
  // A pasted request id is offered even if the request is not loaded.
  last = { of, query, matching, best: REQUEST_ID.test(query.trim()) ? [requestEntry(query.trim()), ...best] : best };
  return last.best;
}

const REQUEST_ID = /^req_[0-9a-z]{20,30}$/;

function requestEntry(id: string): Entry {
  return entry('request', id, '4 paste', { kind: 'request', id });
}

function matches(entries: readonly Entry[], words: readonly string[]): Pick<Found, 'matching' | 'best'> {
  if (words.length === 0) return { matching: entries, best: entries.slice(0, MAX_FOUND) };
  const scored: { entry: Entry; score: number }[] = [];
  for (const entry of entries) {
    const score = fuzzyScore(words, entry.searched);
    if (score !== undefined) scored.push({ entry, score });
  }
  const matching = scored.map(({ entry }) => entry);
  // At equal scores the shorter entry wins, since the query covers more of it.
  scored.sort((a, b) => b.score - a.score || a.entry.searched.length - b.entry.searched.length);
  return { matching, best: scored.slice(0, MAX_FOUND).map(({ entry }) => entry) };
}

/** Actions of the open view first, then the views, then global actions and actions of other views. */
function actions(model: Model): Entry[] {
  const here = SECTIONS.filter(({ of }) => of === model.view);
  const others = SECTIONS.filter(({ of }) => of !== model.view);
  const views = VIEWS.map((view, index) =>
    entry('view', VIEW_NAMES[view], String(index + 1), { kind: 'view', view }, 'go to view'),
  );
  const entriesOf = (sections: typeof SECTIONS) =>
    sections.flatMap(({ title, of, bindings }) =>
      bindings.flatMap(({ shown, meaning, press, isChange = false }) => {
        if (press === undefined || (isChange && model.isReadOnly)) return [];
        const way = of === undefined || of === model.view ? shown : `${VIEWS.indexOf(of) + 1} ${shown}`;
        return [
          entry(title, `${meaning}${about(model, of, press)}`, way, { kind: 'press', key: press, view: of }, title),
        ];
      }),
    );
  return [...entriesOf(here), ...views, ...entriesOf(others)];
}

/** Keys that act on the key under the cursor. */
const ON_A_KEY = new Set(['r', 'e', 'd', 'l', 'm', 'D']);

function about(model: Model, of: View | undefined, press: string): string {
  const name = of === 'keys' && ON_A_KEY.has(press) ? currentKey(model)?.record.name : undefined;
  return name === undefined ? '' : `: ${name}`;
}

const namedBy = new WeakMap<readonly unknown[], readonly Entry[]>();

/** Joined into one text for comparison. */
function namesOfUpstreams({ snapshot }: Model): string {
  return (snapshot?.upstreams ?? []).map(({ upstream }) => upstream).join('\n');
}

/** Returns the loaded end users: of unfolded groups, of requests, and of usage. */
function usersOf({ groups, requests, usage, ended }: Model): string[] {
  const names = [
    ...[...groups.users.values()].flatMap(({ users = [] }) => users.map(({ name }) => name)),
    ...requests.rows.map(({ refused, end }) => refused?.user ?? end?.spentBy?.user),
    ...usage.rows.map(({ user }) => user),
    ...ended.map(({ user }) => user),
  ];
  return [...new Set(names)].filter((name) => name !== undefined && name !== '' && name !== OTHER_NAMES) as string[];
}

/** Entries of keys, groups and models, cached per read of the state; and of providers, end users and requests. */
function named(model: Model): readonly Entry[] {
  const { keys, groups, models } = model.stored;
  return [
    ...once(keys, () =>
      keys.map(({ record: { id, name } }) => entry('key', name, '2 / Enter', { kind: 'key', keyId: id })),
    ),
    ...once(groups, () =>
      groups.map(({ record: { id, name } }) => entry('group', `@${name}`, '7 / Enter', { kind: 'group', groupId: id })),
    ),
    ...once(models, () => models.map(({ id }) => entry('model', id, '4 /', { kind: 'model', id }))),
    ...namesOfUpstreams(model)
      .split('\n')
      .filter((upstream) => upstream !== '')
      .map((upstream) => behind('provider', upstream, '1 Enter', { kind: 'upstream', upstream })),
    ...usersOf(model).map((name) => behind('end user', name, '4 /', { kind: 'user', name })),
    ...model.requests.rows.slice(0, MAX_FOUND).map(({ id }) => requestEntry(id)),
  ];
}

function once(of: readonly unknown[], make: () => readonly Entry[]): readonly Entry[] {
  const known = namedBy.get(of) ?? make();
  namedBy.set(of, known);
  return known;
}

/** An entry that ranks after entries whose name begins with the query: model ids begin with provider names. */
function behind(of: string, text: string, shown: string, choice: Choice): Entry {
  return { of, text, shown, choice, searched: `${of} ${text}`.toLowerCase() };
}

/** `also`: further words that match the entry. */
function entry(of: string, text: string, shown: string, choice: Choice, also = ''): Entry {
  return { of, text, shown, choice, searched: `${text} ${also}`.trim().toLowerCase() };
}
