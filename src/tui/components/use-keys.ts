/** Key presses under the names that the update functions use: a character, or `up`, `enter`, `ctrl+c`. */
import { type Key, useInput } from 'ink';

const NAMES = {
  upArrow: 'up',
  downArrow: 'down',
  leftArrow: 'left',
  rightArrow: 'right',
  pageUp: 'pageup',
  pageDown: 'pagedown',
  home: 'home',
  end: 'end',
  return: 'enter',
  escape: 'escape',
  backspace: 'backspace',
  delete: 'delete',
} as const;
const CONTROLS: Readonly<Record<string, string>> = { '\r': 'enter', '\n': 'enter', '\t': 'tab', '\b': 'backspace' };
/** Offset from a control character to its letter: Ctrl-A is 1, Ctrl-Z is 26. */
const CONTROL_TO_LETTER = 0x60;

/** Calls `onKey` for each key press. One read contains several keys if the program was busy or the link is slow. */
export function useKeys(onKey: (name: string) => void): void {
  useInput((input, key) => namesOf(input, key).forEach(onKey));
}

function namesOf(input: string, key: Key): readonly string[] {
  // Ink parses Esc followed at once by a key as Alt, which the dashboard does not use. Real Alt sequences have an
  // event type.
  const isAfterEscape = key.meta && key.eventType === undefined;
  const names = withoutEscape(input, key);
  return isAfterEscape ? ['escape', ...names] : names;
}

function withoutEscape(input: string, key: Key): readonly string[] {
  if (key.tab) return [key.shift ? 'shift+tab' : 'tab'];
  const named = Object.entries(NAMES).find(([field]) => key[field as keyof typeof NAMES]);
  if (named !== undefined) return [named[1]];
  if (key.ctrl) return [`ctrl+${input}`];
  return key.eventType !== undefined && key.meta ? [] : [...input].map(nameOf);
}

function nameOf(character: string): string {
  if (character >= ' ') return character;
  return CONTROLS[character] ?? `ctrl+${String.fromCharCode(character.charCodeAt(0) + CONTROL_TO_LETTER)}`;
}
