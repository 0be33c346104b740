/** The names of the keys that were pressed, as the updates know them. Pure. */

const NAMED = {
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

/** What Ink says of a key press. */
type Key = Readonly<Record<keyof typeof NAMED | 'tab' | 'shift' | 'ctrl' | 'meta', boolean>> & {
  readonly eventType?: string | undefined;
};

/** The keys that were pressed: several at once if the program was busy or the link is slow. */
export function namesOf(input: string, key: Key): string[] {
  return isAfterEscape(key) ? ['escape', ...unescaped(input, key)] : unescaped(input, key);
}

/**
 * Whether Esc came before the key in the same read, which Ink takes for Alt. Nothing here uses Alt.
 * A sequence that names Alt itself has a type of event.
 */
function isAfterEscape({ meta, eventType }: Key): boolean {
  return meta && eventType === undefined;
}

function unescaped(input: string, key: Key): string[] {
  if (key.tab) return [key.shift ? 'shift+tab' : 'tab'];
  for (const [field, name] of Object.entries(NAMED)) if (key[field as keyof typeof NAMED]) return [name];
  if (key.ctrl) return [`ctrl+${input}`];
  return key.eventType !== undefined && key.meta ? [] : [...input].map(nameOf);
}

const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
};
/** Ctrl-A is 1, Ctrl-Z is 26. */
const CONTROL_TO_LETTER = 0x60;

function nameOf(character: string): string {
  if (character >= ' ' && character !== '\u007f') return character;
  return CONTROLS[character] ?? `ctrl+${String.fromCharCode(character.charCodeAt(0) + CONTROL_TO_LETTER)}`;
}
