/** Every key of the keyboard and its effect; the help and the palette are built from this table. */
import type { View } from './model.ts';

/** Names of the views in the tabs. */
export const VIEW_NAMES: Readonly<Record<View, string>> = {
  overview: 'Overview',
  keys: 'Keys',
  live: 'Live',
  requests: 'Requests',
  usage: 'Usage',
  models: 'Models',
  groups: 'Groups',
};

export interface Binding {
  /** The key as the help shows it. */
  readonly shown: string;
  readonly meaning: string;
  /** The key press that the palette sends; undefined for keys such as cursor movement, which the palette omits. */
  readonly press?: string;
  /** Whether the key changes data or asks to; a read-only dashboard refuses it. */
  readonly isChange?: true;
}

export interface Section {
  readonly title: string;
  /** The view in which the keys work; undefined for all views. */
  readonly of: View | undefined;
  readonly bindings: readonly Binding[];
}

export const SECTIONS: readonly Section[] = [
  {
    title: 'Everywhere',
    of: undefined,
    bindings: [
      { shown: '1 … 7', meaning: 'go to a view' },
      { shown: 'Tab', meaning: 'next view' },
      { shown: '↑↓ j k', meaning: 'move' },
      { shown: 'PgUp PgDn', meaning: 'pages; Ctrl-U Ctrl-D' },
      { shown: 'Home End', meaning: 'first; last; g G' },
      { shown: 'Enter', meaning: 'look into the row', press: 'enter' },
      { shown: 'Esc', meaning: 'back' },
      { shown: '/', meaning: 'filter', press: '/' },
      { shown: 's', meaning: 'sort by next column', press: 's' },
      { shown: 'S', meaning: 'reverse the order', press: 'S' },
      { shown: ':', meaning: 'find anything by name' },
      { shown: '!', meaning: 'go to what is wrong', press: '!' },
      { shown: '@', meaning: 'what was done here', press: '@' },
      { shown: 'u', meaning: 'undo the last change', press: 'u', isChange: true },
      { shown: '+', meaning: 'add credit', press: '+', isChange: true },
      { shown: '-', meaning: 'remove credit', press: '-', isChange: true },
      { shown: 'h', meaning: 'credit history', press: 'h' },
      { shown: 'A', meaning: 'audit the state', press: 'A' },
      { shown: 'y', meaning: 'copy the id of the row', press: 'y' },
      { shown: 'p', meaning: 'write the screen as SVG', press: 'p' },
      { shown: 'R', meaning: 'reload the config', press: 'R', isChange: true },
      { shown: 'Ctrl-L', meaning: 'redraw the screen' },
      { shown: 'Ctrl-Z', meaning: 'suspend' },
      { shown: '?', meaning: 'this help', press: '?' },
      { shown: 'q Ctrl-C', meaning: 'quit', press: 'q' },
    ],
  },
  {
    title: 'Overview',
    of: 'overview',
    bindings: [
      { shown: 't', meaning: 'range of the charts', press: 't' },
      { shown: 'n', meaning: 'create a key', isChange: true },
    ],
  },
  {
    title: 'Keys',
    of: 'keys',
    bindings: [
      { shown: 'n', meaning: 'create a key', press: 'n', isChange: true },
      { shown: 'r', meaning: 'rotate the key', press: 'r', isChange: true },
      { shown: 'e', meaning: 'enable the key', press: 'e', isChange: true },
      { shown: 'd', meaning: 'disable the key', press: 'd', isChange: true },
      { shown: 'l', meaning: 'limits, budgets, expiry', press: 'l', isChange: true },
      { shown: 'm', meaning: 'edit its models', press: 'm', isChange: true },
      { shown: 'U', meaning: 'limits of its end users', press: 'U', isChange: true },
      { shown: 'M', meaning: 'move it to a group', press: 'M', isChange: true },
      { shown: 'D', meaning: 'delete it permanently', press: 'D', isChange: true },
    ],
  },
  {
    title: 'Live',
    of: 'live',
    bindings: [
      { shown: 'f', meaning: 'only errors', press: 'f' },
      { shown: 'x', meaning: 'stop a request', press: 'x', isChange: true },
      { shown: 'b', meaning: 'block its end user', press: 'b', isChange: true },
    ],
  },
  {
    title: 'Requests',
    of: 'requests',
    bindings: [
      { shown: 'f', meaning: 'only errors', press: 'f' },
      { shown: 'paste', meaning: 'look for an id' },
      { shown: 'b', meaning: 'block its end user', press: 'b', isChange: true },
    ],
  },
  {
    title: 'Usage',
    of: 'usage',
    bindings: [
      { shown: '← →', meaning: 'group', press: 'right' },
      { shown: '[ ]', meaning: 'time range', press: ']' },
      { shown: 'w', meaning: 'export as CSV', press: 'w' },
      { shown: 'b', meaning: 'block the end user', press: 'b', isChange: true },
    ],
  },
  {
    title: 'Groups',
    of: 'groups',
    bindings: [
      { shown: '← →', meaning: 'fold; unfold' },
      { shown: '*', meaning: 'unfold or fold all', press: '*' },
      { shown: 'n', meaning: 'create a group here', press: 'n', isChange: true },
      { shown: 'N', meaning: 'create a key here', press: 'N', isChange: true },
      { shown: 'e', meaning: 'unblock, or enable', press: 'e', isChange: true },
      { shown: 'd', meaning: 'block, or disable', press: 'd', isChange: true },
      { shown: 'l', meaning: 'limits and budgets', press: 'l', isChange: true },
      { shown: 'U', meaning: 'limits of each end user', press: 'U', isChange: true },
      { shown: 'm', meaning: 'edit its models', press: 'm', isChange: true },
      { shown: 'M', meaning: 'move it to a group', press: 'M', isChange: true },
      { shown: 'D', meaning: 'delete it permanently', press: 'D', isChange: true },
    ],
  },
];
