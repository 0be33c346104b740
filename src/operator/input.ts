/** Parses input of commands and forms, with one reader per kind of value. */
import { DAY_MS, utcDay } from '../core/clock.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import { isPrintable } from '../core/printable.ts';
import { checkKeyName } from '../state/keys.ts';

/** A value, or a sentence about the expected input. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly expected: string };

export type Reader<T> = (text: string) => Reading<T>;

/** Returns a reader of whole numbers from 1 to `maximum`. */
export function readCount(maximum: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= maximum) return { ok: true, value };
    return { ok: false, expected: `Expected a whole number from 1 to ${maximum}.` };
  };
}

export const readAmount: Reader<Nanos> = (text) => {
  const value = parseUsd(text);
  if (value !== undefined) return { ok: true, value };
  return {
    ok: false,
    expected: 'Expected an amount in USD such as 25 or 0.50, up to a billion, with at most nine decimals.',
  };
};

export const readAmountAboveZero: Reader<Nanos> = (text) => {
  const reading = readAmount(text);
  return reading.ok && reading.value === 0n ? { ok: false, expected: 'Expected more than 0.' } : reading;
};

export const readKeyName: Reader<string> = (text) => {
  const problem = checkKeyName(text);
  if (problem === undefined) return { ok: true, value: text };
  return { ok: false, expected: `${problem[0]?.toUpperCase()}${problem.slice(1)}.` };
};

export const readModelId: Reader<string> = (text) => {
  if (text.includes('*')) {
    return {
      ok: false,
      expected: 'An allowlist has no wildcards: name each model, or clear the allowlist to allow all.',
    };
  }
  if (text.includes(','))
    return { ok: false, expected: 'Expected one model, without a comma: name each model on its own.' };
  if (/^[^/\s]+\/\S+$/.test(text) && isPrintable(text)) return { ok: true, value: text };
  return { ok: false, expected: 'Expected <provider>/<model>, such as openai/gpt-4o-mini.' };
};

const MAX_NOTE_CHARACTERS = 500;

export const readNote: Reader<string> = (text) => {
  if (text.length <= MAX_NOTE_CHARACTERS && isPrintable(text)) return { ok: true, value: text };
  return {
    ok: false,
    expected: `Expected at most ${MAX_NOTE_CHARACTERS} characters, without control or format characters.`,
  };
};

export const readPath: Reader<string> = (text) => {
  const value = text.trim();
  return value === '' ? { ok: false, expected: 'Expected a file name.' } : { ok: true, value };
};

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS };

/** The accepted forms of a time, for helps. */
export const MOMENT = 'a date, a time, today, yesterday, or how long ago (7d, 12h)';

/**
 * Reads `2026-11-01`, `2026-11-01T12:00:00Z`, the start of `today` or `yesterday`, or a time before now: `7d`, `12h`. Times
 * without a zone are UTC.
 */
export function readMoment(nowMs: number): Reader<number> {
  const todayMs = Date.parse(utcDay(nowMs));
  const days = new Map([
    ['today', todayMs],
    ['yesterday', todayMs - DAY_MS],
  ]);
  return (text) => {
    const [, number, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
    const ago = number === undefined ? undefined : nowMs - Number(number) * (UNITS_MS[unit] ?? 0);
    const value = ago ?? days.get(text) ?? parseTime(text);
    if (value !== undefined) return { ok: true, value };
    return {
      ok: false,
      expected:
        'Expected a date (2026-11-01), a time (2026-11-01T12:00:00Z), today, yesterday, or how long ago (7d, 12h).',
    };
  };
}

function parseTime(text: string): number | undefined {
  const parts = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (parts === null) return undefined;
  const [, date = '', time = '00:00', zone = 'Z'] = parts;
  // Date would turn 30 February into 1 March.
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight) || new Date(midnight).toISOString().slice(0, 10) !== date) return undefined;
  const at = Date.parse(`${date}T${time}${zone}`);
  return Number.isNaN(at) ? undefined : at;
}

/** Returns a reader of a keyword, such as `default`, or of the values of another reader. */
export function keywordOr<T, K extends string>(keyword: K, reader: Reader<T>): Reader<T | K> {
  return (text) => (text === keyword ? { ok: true, value: keyword } : reader(text));
}
