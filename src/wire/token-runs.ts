/** Weighs runs of blanks and of signs that no table has. */
import { UNIT } from './token-weights.ts';

const TAB = 0x09;
export const NEWLINE = 0x0a;
export const RETURN = 0x0d;
export const SPACE = 0x20;

/** Signs of which a long run is few tokens. */
const RULES = new Set(Array.from('-=*#_./', (sign) => sign.charCodeAt(0)));
/** A run of one of them is at most two tokens and one for every 16 (measured to 1,000 signs). */
const RULE_SIGNS_PER_TOKEN = 16;
/** Stands for the two signs that end a line in some files. */
const LINE_END = -1;
/** A run of one kind of blank is at most one token for so many blanks (measured to 400). */
const LINES_PER_TOKEN = 8;
const BLANKS_PER_TOKEN = new Map([
  [SPACE, 64],
  [TAB, 16],
  [NEWLINE, LINES_PER_TOKEN],
  [LINE_END, 2],
]);

/** Each kind of blank in a run is a token, and more of the same only where there are many. */
export function blankWeight(units: Uint16Array, start: number, end: number): number {
  let sum = 0;
  let last = 0;
  let same = 0;
  for (let at = start; at < end; at++) {
    let code = units[at] as number;
    if (code === RETURN && at + 1 < end && units[at + 1] === NEWLINE) {
      code = LINE_END;
      at++;
    }
    same = code === last ? same + 1 : 0;
    if (same % (BLANKS_PER_TOKEN.get(code) ?? 1) === 0) sum += UNIT;
    last = code;
  }
  return sum;
}

/** Each sign is a token at most, and of a ruled line far less. */
export function signWeight(units: Uint16Array, start: number, end: number): number {
  let sum = 0;
  for (let at = start; at < end; ) {
    const code = units[at] as number;
    const from = at;
    do at++;
    while (at < end && units[at] === code);
    const most = at - from;
    if (code === NEWLINE) sum += UNIT * Math.ceil(most / LINES_PER_TOKEN);
    else sum += UNIT * (RULES.has(code) ? Math.min(most, 2 + most / RULE_SIGNS_PER_TOKEN) : most);
  }
  return sum;
}
