/** Where the weight of a letter is kept: one cell for each letter in the company of those before it. */

/** Weights are whole numbers of this part of a token. */
export const UNIT = 48;
const LETTERS = 27;
/** Cells of lower-case letters, by two letters before and itself; none is 0. Case does not count in what goes before. */
export const LOWER_CELLS = LETTERS ** 3;
/** Cells of upper-case letters, by one letter before and itself. */
const UPPER_CELLS = LETTERS ** 2;
const UPPER_START = LOWER_CELLS;
/** Cells of the first lower-case letter after upper-case ones, by the letter before and itself. */
const TURN_START = UPPER_START + UPPER_CELLS;
export const CELLS = TURN_START + UPPER_CELLS;

/** 1 to 26 for a letter of either case. */
export function letterOf(code: number): number {
  return code & 31;
}

export function isUpper(code: number): boolean {
  return code < 97;
}

/** The cell of a letter. `hasUpper` and `hasLower` say what the piece had before it. */
export function cellOf(x: number, y: number, code: number, hasUpper: boolean, hasLower: boolean): number {
  const z = letterOf(code);
  if (isUpper(code)) return UPPER_START + y * LETTERS + z;
  if (hasUpper && !hasLower) return TURN_START + y * LETTERS + z;
  return (x * LETTERS + y) * LETTERS + z;
}

/** The cells of a word of the form that the tokenizer leaves whole: upper-case letters, then lower-case ones. */
export function cellsOf(word: string): number[] {
  const cells: number[] = [];
  let [x, y, hasUpper, hasLower] = [0, 0, false, false];
  for (let i = 0; i < word.length; i++) {
    const code = word.charCodeAt(i);
    cells.push(cellOf(x, y, code, hasUpper, hasLower));
    if (isUpper(code)) hasUpper = true;
    else hasLower = true;
    [x, y] = [y, letterOf(code)];
  }
  return cells;
}
