/** The hints in the last line: the keys that do something in a view or a dialog. */
import type { Dialog } from '../model.ts';

/** The line at the bottom. The last hint is always shown, the others as far as they fit. */
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

/** Those that change something: a read-only dashboard has no use for them. */
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

/** The hints that do something in this dashboard. */
export function usable(hints: readonly string[], isReadOnly: boolean): readonly string[] {
  return isReadOnly ? hints.filter((hint) => !CHANGES.has(hint)) : hints;
}

/** The same line while a dialog is open. */
const DIALOG_HINTS = {
  form: ['↑↓ Tab field', 'Ctrl-U clear', 'Enter confirm', 'Esc cancel'],
  confirm: ['y confirm', 'n or Esc cancel'],
  typed: ['type the text shown', 'Enter confirm', 'Esc cancel'],
  picker: ['↑↓ PgUp PgDn Home End move', 'Space toggle', 'Enter save', 'Esc cancel'],
  secret: ['c copy', 'Enter I have stored it'],
  palette: ['type a name', '↑↓ choose', 'Enter do it', 'Esc close'],
  audit: ['Esc stop'],
  credit_history: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  done: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  notice: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  help: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
} as const;

export function hintsOfDialog(dialog: Dialog): readonly string[] {
  return DIALOG_HINTS[dialog.kind === 'confirm' && dialog.word !== undefined ? 'typed' : dialog.kind];
}
