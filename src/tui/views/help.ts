/** Every key of the keyboard and what it does. */
import type { Dialog, View } from '../model.ts';

interface Section {
  readonly title: string;
  /** Where the keys count; undefined for everywhere. */
  readonly of: View | undefined;
  readonly keys: readonly (readonly [keys: string, meaning: string])[];
}

export const HELP: readonly Section[] = [
  {
    title: 'Everywhere',
    of: undefined,
    keys: [
      ['1 … 5   Tab', 'go to a view; to the next one'],
      ['↑↓ PgUp PgDn Home End', 'move (also j and k)'],
      ['+', 'add credit'],
      ['R', 'have the config read anew'],
      ['?   q or Ctrl-C', 'this help; leave'],
    ],
  },
  {
    title: 'Keys',
    of: 'keys',
    keys: [
      ['Enter   /   s   Esc', 'details; filter; sort; back'],
      ['n   r', 'make a key; make its successor'],
      ['e   d', 'enable; disable'],
      ['l   m', 'limits; models it may call'],
      ['D', 'delete for ever'],
    ],
  },
  { title: 'Live', of: 'live', keys: [['Enter   x', 'details; stop a request']] },
  { title: 'Usage', of: 'usage', keys: [['← →   [ ]   w', 'group; range; save as CSV']] },
];

/** The keys of the moment, for the line at the bottom. The last is shown always, the others in so far as they fit. */
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
  usage: ['←→ group', '[ ] range', 'w write CSV', '↑↓ move', 'q quit', '? help'],
  models: ['↑↓ move', 'R reload the config', '1-5 views', 'q quit', '? help'],
  typing: ['type to filter', 'Enter or Esc: done'],
} as const;

/** Those of what lies over a view. */
const DIALOG_HINTS = {
  form: ['↑↓ Tab field', 'Ctrl-U empty it', 'Enter do it', 'Esc leave'],
  confirm: ['y do it', 'n or Esc leave'],
  typed: ['type what is asked for', 'Enter do it', 'Esc leave'],
  picker: ['↑↓ PgUp PgDn Home End move', 'Space take or leave', 'Enter save', 'Esc leave'],
  secret: ['c copy', 'Enter I have stored it'],
  help: ['any key back'],
} as const;

export function hintsOfDialog(dialog: Dialog): readonly string[] {
  return DIALOG_HINTS[dialog.kind === 'confirm' && dialog.word !== undefined ? 'typed' : dialog.kind];
}
