/** The palette: everything that can be reached, found by a few characters of its name. Pure. */
import { OTHER_NAMES } from '../../core/spent-by.ts';
import { SECTIONS, VIEW_NAMES } from '../bindings.ts';
import { edited, NOTHING_TYPED } from '../draw/typed.ts';
import { fuzzyScore, queryWords } from '../fuzzy.ts';
import { currentKey } from '../lists/keys.ts';
import { type Dialog, type Model, VIEWS, type View } from '../model.ts';
import { moveCursor, type Step, step } from './step.ts';

export type PaletteDialog = Extract<Dialog, { kind: 'palette' }>;

/** What happens if an entry is chosen. */
export type Choice =
  | { readonly kind: 'view'; readonly view: View }
  /** In the view; undefined for any. */
  | { readonly kind: 'press'; readonly key: string; readonly view: View | undefined }
  | { readonly kind: 'key'; readonly keyId: string }
  | { readonly kind: 'group'; readonly groupId: string }
  | { readonly kind: 'model'; readonly id: string }
  | { readonly kind: 'upstream'; readonly upstream: string }
  | { readonly kind: 'user'; readonly name: string }
  | { readonly kind: 'request'; readonly id: string };

export interface Entry {
  /** What kind of thing it is. */
  readonly of: string;
  readonly text: string;
  /** The keys that do the same. */
  readonly shown: string;
  readonly choice: Choice;
  /** What is searched, in lower case. */
  readonly searched: string;
}

/** The best matches that can be scrolled through. Whoever looks for another types one more character. */
const MAX_FOUND = 200;
/** Up to this many lines, so that the view beneath stays in sight. */
const MAX_LINES = 14;
/** What is not an entry: the window's status and hints, the frame, the field, and the lines around it. */
const AROUND_ROWS = 8;

/** How many entries show at once. */
export function paletteRoom(rows: number): number {
  return Math.max(1, Math.min(MAX_LINES, rows - AROUND_ROWS));
}

export function openPalette(model: Model): Step {
  return step({ ...model, dialog: { kind: 'palette', query: NOTHING_TYPED, cursor: 0 } });
}

/** Every key press but Enter. */
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

/** The entry under the cursor; undefined if nothing matches. */
export function chosenEntry(model: Model, { query, cursor }: PaletteDialog): Entry | undefined {
  const entries = found(model, query.text);
  return entries[Math.min(cursor, entries.length - 1)];
}

interface Found {
  /** What the entries depend on. */
  readonly of: readonly unknown[];
  readonly query: string;
  /** All that match, and the best of them in order. */
  readonly matching: readonly Entry[];
  readonly best: readonly Entry[];
}

/** The last result: a key press needs it to move and to draw, and a longer query finds nothing else. */
let last: Found | undefined;

/** The entries that match what is typed, best first. */
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
  // An id that was pasted need not be on the screen.
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
  // Of two that match as well, more of the shorter one has been typed.
  scored.sort((a, b) => b.score - a.score || a.entry.searched.length - b.entry.searched.length);
  return { matching, best: scored.slice(0, MAX_FOUND).map(({ entry }) => entry) };
}

/** What the view can do first, then the views, then what can be done everywhere and elsewhere. */
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

/** Acts on the key under the cursor. */
const ON_A_KEY = new Set(['r', 'e', 'd', 'l', 'm', 'D']);

function about(model: Model, of: View | undefined, press: string): string {
  const name = of === 'keys' && ON_A_KEY.has(press) ? currentKey(model)?.record.name : undefined;
  return name === undefined ? '' : `: ${name}`;
}

const namedBy = new WeakMap<readonly unknown[], readonly Entry[]>();

/** In one text, so that it can be compared. */
function namesOfUpstreams({ snapshot }: Model): string {
  return (snapshot?.upstreams ?? []).map(({ upstream }) => upstream).join('\n');
}

/** The end users that the dashboard has read: of unfolded groups, of requests, and of usage. */
function usersOf({ groups, requests, usage, ended }: Model): string[] {
  const names = [
    ...[...groups.users.values()].flatMap(({ users = [] }) => users.map(({ name }) => name)),
    ...requests.rows.map(({ refused, end }) => refused?.user ?? end?.spentBy?.user),
    ...usage.rows.map(({ user }) => user),
    ...ended.map(({ user }) => user),
  ];
  return [...new Set(names)].filter((name) => name !== undefined && name !== '' && name !== OTHER_NAMES) as string[];
}

/** Keys, groups and models, made once for each read of the state; providers, end users and requests. */
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

/** Found after an entry whose name begins with what is typed: models begin with the names of providers. */
function behind(of: string, text: string, shown: string, choice: Choice): Entry {
  return { of, text, shown, choice, searched: `${of} ${text}`.toLowerCase() };
}

/** `also`: words that find it, too. */
function entry(of: string, text: string, shown: string, choice: Choice, also = ''): Entry {
  return { of, text, shown, choice, searched: `${text} ${also}`.trim().toLowerCase() };
}
