/** Every key of the keyboard that does something, and what it does. */
import type { Dialog, View } from '../model.ts';

interface Section {
  readonly title: string;
  /** The view the keys work in; undefined for all of them. */
  readonly of: View | undefined;
  readonly keys: readonly (readonly [keys: string, meaning: string])[];
}

export const HELP: readonly Section[] = [
  {
    title: 'Everywhere',
    of: undefined,
    keys: [
      ['1 … 5   Tab', 'go to a view; next view'],
      ['↑↓ PgUp PgDn Home End', 'move (also j and k)'],
      ['!', 'go to what is wrong'],
      ['+', 'add credit'],
      ['R', 'reload the config'],
      ['Ctrl-L   Ctrl-Z', 'redraw the screen; suspend'],
      ['?   q or Ctrl-C', 'this help; quit'],
    ],
  },
  {
    title: 'Keys',
    of: 'keys',
    keys: [
      ['Enter   /   s   Esc', 'details; filter; sort; close'],
      ['n   r', 'create a key; rotate it'],
      ['e   d', 'enable; disable'],
      ['l   m', 'edit limits; edit allowed models'],
      ['D', 'delete permanently'],
    ],
  },
  { title: 'Live', of: 'live', keys: [['Enter   x', 'details; stop a request']] },
  { title: 'Usage', of: 'usage', keys: [['← →   [ ]   w', 'group; time range; export as CSV']] },
];

/** The line at the bottom. The last hint is always shown, the others as far as they fit. */
export const HINTS = {
  overview: ['1-5 Tab views', '+ credit', 'R reload', 'q quit', '? help'],
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
  live: ['↑↓ Enter details', 'x stop', '1-5 views', 'q quit', '? help'],
  usage: ['←→ group', '[ ] range', 'w export CSV', '↑↓ move', 'q quit', '? help'],
  models: ['↑↓ move', 'R reload config', '1-5 views', 'q quit', '? help'],
  typing: ['type to filter', 'Enter or Esc done'],
} as const;

/** The same line while a dialog is open. */
const DIALOG_HINTS = {
  form: ['↑↓ Tab field', 'Ctrl-U clear', 'Enter confirm', 'Esc cancel'],
  confirm: ['y confirm', 'n or Esc cancel'],
  typed: ['type the text shown', 'Enter confirm', 'Esc cancel'],
  picker: ['↑↓ PgUp PgDn Home End move', 'Space toggle', 'Enter save', 'Esc cancel'],
  secret: ['c copy', 'Enter I have stored it'],
  notice: ['↑↓ PgUp PgDn scroll', 'Enter or Esc close'],
  help: ['any key close'],
} as const;

export function hintsOfDialog(dialog: Dialog): readonly string[] {
  return DIALOG_HINTS[dialog.kind === 'confirm' && dialog.word !== undefined ? 'typed' : dialog.kind];
}
