/** Every key of the keyboard and what it does. */

/** Keys and their meanings; a line without a meaning is a heading. */
export const HELP: readonly (readonly [keys: string, meaning: string])[] = [
  ['Everywhere', ''],
  ['1 … 5, Tab', 'Overview, Keys, Live, Usage, Models'],
  ['↑ ↓ PgUp PgDn Home End', 'move (also j and k)'],
  ['+', 'add credit'],
  ['R', 'let the gateway read its config anew'],
  ['?   q or Ctrl-C', 'this help; leave'],
  ['Keys', ''],
  ['Enter   /   s', 'details; filter; sort by another column'],
  ['n   r', 'make a key; make a successor of this one'],
  ['e   d', 'enable; disable'],
  ['l   m', 'limits; models that it may call'],
  ['D', 'delete for ever'],
  ['Live', ''],
  ['Enter   x', 'details; stop a request that is under way'],
  ['Usage', ''],
  ['← →   [ ]   w', 'group; range; write as CSV to a file'],
];

/** The keys of the moment, for the line at the bottom. */
export const HINTS = {
  overview: '1-5 Tab views  + credit  R reload  ? help  q quit',
  keys: 'Enter more  n new  e d on/off  l limits  m models  r rotate  D delete  / s  ? help',
  live: '↑↓ Enter details  x stop  1-5 views  ? help  q quit',
  usage: '←→ group  [ ] range  w write CSV  ↑↓ move  ? help  q quit',
  models: '↑↓ move  R reload the config  1-5 views  ? help  q quit',
  typing: 'type to filter   Enter or Esc: done',
} as const;
