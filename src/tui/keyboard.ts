/** What a terminal sends, as keys that are pressed and texts that are pasted. Pure. */

export type Input =
  /** A character, or the name of a key: `up`, `enter`, `escape`, `ctrl+c`. */
  { readonly kind: 'key'; readonly key: string } | { readonly kind: 'paste'; readonly text: string };

export interface Reading {
  readonly inputs: readonly Input[];
  /** The beginning of something whose rest has not come yet. */
  readonly rest: string;
}

const ESCAPE = '\u001b';
const PASTE_BEGIN = `${ESCAPE}[200~`;
const PASTE_END = `${ESCAPE}[201~`;

// biome-ignore lint/suspicious/noControlCharactersInRegex: keys begin with one.
const SEQUENCE = /^\u001b(?:\[([0-?]*)[ -/]*([@-~])|O(.))/s;
/** A sequence that is not at its end yet. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys begin with one.
const BEGUN = /^\u001b(?:\[[0-?]*[ -/]*|O)?$/;

/** By the letter at the end of a sequence. */
const BY_LETTER: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  F: 'end',
  H: 'home',
  M: 'enter',
  Z: 'shift+tab',
};
/** By the number of a sequence that ends in `~`. */
const BY_NUMBER: Readonly<Record<string, string>> = {
  1: 'home',
  // Takes a character away, as the key above Enter does: a text is typed at its end alone.
  3: 'backspace',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
};
const CONTROLS: Readonly<Record<string, string>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\b': 'backspace',
  '\u007f': 'backspace',
};
/** Ctrl-A is 1, Ctrl-Z is 26. */
const LETTERS_OF_CONTROLS = 0x60;

/** A terminal sends a key in one piece, but over a slow line its pieces may come apart by so much. */
const KEY_PIECES_MS = 30;
/** Pieces of a paste must not be taken for keys. One whose end is lost must not keep the keyboard for ever. */
const PASTE_PIECES_MS = 1_000;

/** How long to wait for what is missing, in milliseconds. */
export function patienceFor(rest: string): number {
  return rest.startsWith(PASTE_BEGIN) ? PASTE_PIECES_MS : KEY_PIECES_MS;
}

/** Reads what has come; `isAll` where nothing followed for a while: then a lone escape was the key of that name. */
export function readInput(text: string, isAll = false): Reading {
  const inputs: Input[] = [];
  let rest = text;
  while (rest !== '') {
    const next = nextInput(rest, isAll);
    if (next === undefined) break;
    if (next.input !== undefined) inputs.push(next.input);
    rest = rest.slice(next.length);
  }
  return { inputs, rest };
}

interface Next {
  /** Undefined for a key that has no meaning here. */
  readonly input: Input | undefined;
  readonly length: number;
}

/** Undefined where more has to come first. */
function nextInput(text: string, isAll: boolean): Next | undefined {
  if (!text.startsWith(ESCAPE)) {
    const [character = ''] = text;
    return { input: { kind: 'key', key: nameOf(character) }, length: character.length };
  }
  if (text.startsWith(PASTE_BEGIN)) return pasteOf(text, isAll);
  if (BEGUN.test(text) && !isAll) return undefined;
  const [sequence, parameters = '', final = '', letter = ''] = SEQUENCE.exec(text) ?? [];
  if (sequence !== undefined) {
    const key = final === '~' ? BY_NUMBER[parameters.split(';')[0] ?? ''] : BY_LETTER[final || letter];
    return { input: key === undefined ? undefined : { kind: 'key', key }, length: sequence.length };
  }
  const [, second = ''] = text;
  if (second === '' || second === ESCAPE) return { input: { kind: 'key', key: 'escape' }, length: 1 };
  // With Alt, which means nothing here.
  return { input: undefined, length: 1 + second.length };
}

function pasteOf(text: string, isAll: boolean): Next | undefined {
  const end = text.indexOf(PASTE_END);
  if (end < 0 && !isAll) return undefined;
  const pasted = text.slice(PASTE_BEGIN.length, end < 0 ? undefined : end);
  return { input: { kind: 'paste', text: pasted }, length: end < 0 ? text.length : end + PASTE_END.length };
}

function nameOf(character: string): string {
  if (character >= ' ' && character !== '\u007f') return character;
  return CONTROLS[character] ?? `ctrl+${String.fromCharCode(character.charCodeAt(0) + LETTERS_OF_CONTROLS)}`;
}
