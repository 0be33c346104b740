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
      ['1 … 6   Tab', 'go to a view; next view'],
      ['↑↓ PgUp PgDn Home End', 'move (also j k Ctrl-U Ctrl-D g G)'],
      ['Enter   Esc', 'look into a row; back'],
      ['/   s   S', 'filter; sort by the next column; reverse'],
      ['!', 'go to what is wrong'],
      ['+', 'add credit'],
      ['R', 'reload the config'],
      ['Ctrl-L   Ctrl-Z', 'redraw the screen; suspend'],
      ['?   q or Ctrl-C', 'this help; quit'],
    ],
  },
  { title: 'Overview', of: 'overview', keys: [['t', 'how far back the charts reach']] },
  {
    title: 'Keys',
    of: 'keys',
    keys: [
      ['n   r', 'create a key; rotate it'],
      ['e   d', 'enable; disable'],
      ['l   m', 'edit limits; edit allowed models'],
      ['D', 'delete permanently'],
    ],
  },
  { title: 'Live', of: 'live', keys: [['x   f', 'stop a request; only errors']] },
  { title: 'Requests', of: 'requests', keys: [['f   paste', 'only errors; look for an id']] },
  { title: 'Usage', of: 'usage', keys: [['← →   [ ]   w', 'group; time range; export as CSV']] },
];

/** The line at the bottom. The last hint is always shown, the others as far as they fit. */
export const HINTS = {
  overview: ['1-6 Tab views', '↑↓ Enter look into', '+ credit', 'R reload', 'q quit', '? help'],
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
  typing: ['words such as state:disabled cost>1 -model:opus', 'Enter or Esc done'],
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
