/** The hints in the last line: the keys of a view or a dialog. */
import type { GroupRow } from '../lists/groups.ts';
import type { Dialog } from '../model.ts';

/** The hints of each view. The last hint is always shown, the others as far as they fit. */
export const HINTS = {
  overview: ['1-7 Tab views', '↑↓ Enter look into', '+ credit', 'R reload', 'q quit', '? help'],
  keys: [
    'Enter more',
    'n new',
    'e d on/off',
    'l limits',
    'm models',
    'r rotate',
    'D delete',
    '/ filter',
    's sort',
    'q quit',
    '? help',
  ],
  live: ['Enter more', 'x stop', 'f errors', '/ filter', 's sort', 'q quit', '? help'],
  requests: ['Enter more', 'f errors', '/ filter', 'paste an id', 's sort', 'q quit', '? help'],
  usage: ['Enter more', '←→ group', '[ ] range', 'w export CSV', '/ filter', 's sort', 'q quit', '? help'],
  models: ['Enter usage', 'R reload config', '/ filter', 's sort', 'q quit', '? help'],
  groups: [
    '←→ fold',
    'Enter more',
    'n new',
    'e d on/off',
    'l limits',
    '/ filter',
    's sort',
    'U users',
    'm models',
    'M move',
    'D delete',
    'q quit',
    '? help',
  ],
  typing: ['words such as state:disabled cost>1 -model:opus', 'Enter or Esc done'],
} as const;

/** Key names in hints, mapped to the names in events. Other keys are one character. */
const KEY_NAMES: Readonly<Record<string, string>> = {
  '↑': 'up',
  '↓': 'down',
  '←': 'left',
  '→': 'right',
  Enter: 'enter',
  Esc: 'escape',
  Tab: 'tab',
  Space: ' ',
  'Ctrl-U': 'ctrl+u',
  PgUp: 'pageup',
  PgDn: 'pagedown',
  Home: 'home',
  End: 'end',
};
/** The keys at the beginning of a hint. */
const KEYS = /^(?:(?:[↑↓←→]+|Enter|Esc|Tab|Space|Ctrl-U|PgUp|PgDn|Home|End|\S)(?: |$))+/;
const EACH_KEY = /[↑↓←→]|[^\s↑↓←→]+|\s+/g;

/** A part of a hint, and the key that a click on it presses. */
export interface HintPart {
  readonly text: string;
  readonly press?: string;
}

/** Splits a hint for clicks: a hint with one key is clickable as a whole, one with several on each key. */
export function hintParts(hint: string): HintPart[] {
  const keys = KEYS.exec(hint)?.[0] ?? '';
  const parts = keys.match(EACH_KEY) ?? [];
  const named = parts.filter((part) => part.trim() !== '');
  const [only] = named;
  if (named.length === 1) return [{ text: hint, press: pressed(only as string) }];
  const each = parts.map((text) => (text.trim() === '' ? { text } : { text, press: pressed(text) }));
  return [...each, { text: hint.slice(keys.length) }];
}

function pressed(shown: string): string {
  return KEY_NAMES[shown] ?? shown;
}

/** Hints of keys that change data; a read-only dashboard hides them. */
const CHANGES: ReadonlySet<string> = new Set([
  '+ credit',
  'R reload',
  'n new',
  'e d on/off',
  'l limits',
  'm models',
  'U users',
  'M move',
  'r rotate',
  'D delete',
  'x stop',
  'R reload config',
]);

/**
 * Hints of the Groups view that need a group, a key or an end user, and those among them that end users do not
 * support.
 */
const ON_OWNERS: readonly string[] = ['U users', 'm models', 'M move', 'D delete'];
const ON_LEVELS: readonly string[] = ['e d on/off', 'l limits', ...ON_OWNERS];

/** Returns the hints of the Groups view that apply to this row. */
export function groupHints(kind: GroupRow['kind'] | undefined): readonly string[] {
  const idle = kind === 'group' || kind === 'key' ? [] : kind === 'user' ? ON_OWNERS : ON_LEVELS;
  return HINTS.groups.filter((hint) => !idle.includes(hint));
}

/** Returns the hints that apply to this dashboard. */
export function usable(hints: readonly string[], isReadOnly: boolean): readonly string[] {
  return isReadOnly ? hints.filter((hint) => !CHANGES.has(hint)) : hints;
}

/** Hints while a dialog is open. */
const DIALOG_HINTS = {
  form: ['↑↓ Tab field', 'Ctrl-U clear', 'Enter confirm', 'Esc cancel'],
  confirm: ['y confirm', 'n or Esc cancel'],
  typed: ['type the text shown', 'Enter confirm', 'Esc cancel'],
  picker: ['↑↓ PgUp PgDn Home End move', 'Space toggle', 'Enter save', 'Esc cancel'],
  secret: ['c copy', 'Enter once it is stored'],
  palette: ['type a name', '↑↓ choose', 'Enter do it', 'Esc close'],
  audit: ['Esc stop'],
  credit_history: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  done: ['y copy the last command', '↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  notice: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  help: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
} as const;

export function hintsOfDialog(dialog: Dialog): readonly string[] {
  return DIALOG_HINTS[dialog.kind === 'confirm' && dialog.word !== undefined ? 'typed' : dialog.kind];
}
