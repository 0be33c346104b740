/** Weighs runs of blanks and signs that the tables lack. */
import { UNIT } from './token-weights.ts';

const TAB = 0x09;
export const NEWLINE = 0x0a;
export const RETURN = 0x0d;
export const SPACE = 0x20;

/** Signs whose long runs have few tokens. */
const RULES = new Set(Array.from('-=*#_./', (sign) => sign.charCodeAt(0)));
/** A run of one such sign has at most two tokens and one per 16 signs (measured to 1,000 signs). */
const RULE_SIGNS_PER_TOKEN = 16;
/** Represents the two signs of a CRLF. */
const LINE_END = -1;
/** A run of one kind of blank has at most one token per this many blanks (measured to 400). */
const LINES_PER_TOKEN = 8;
const BLANKS_PER_TOKEN = new Map([
  [SPACE, 64],
  [TAB, 16],
  [NEWLINE, LINES_PER_TOKEN],
  [LINE_END, 2],
]);

/** Counts a token for each change of blank in a run, and more only for many of the same kind. */
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

/** Counts at most a token per sign, and far less for rules. */
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
