/** What people type for limits, amounts, names and models: one reading of it, and one message, for commands and forms. */
import { MAX_CONCURRENCY, MAX_RPM, MAX_TPM } from '../core/limits.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import { PROGRAM } from '../core/program.ts';
import { checkKeyName, type KeyChange } from '../state/keys.ts';

/** A value, or what was expected instead, as a sentence. */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly expected: string };

export type Reader<T> = (text: string) => Reading<T>;

function wholeNumber(maximum: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= maximum) return { ok: true, value };
    return { ok: false, expected: `Expected a whole number from 1 to ${maximum}.` };
  };
}

export const readRpm = wholeNumber(MAX_RPM);
export const readTpm = wholeNumber(MAX_TPM);
export const readConcurrency = wholeNumber(MAX_CONCURRENCY);
/** How many rows are wanted. */
export const readCount = wholeNumber;

export const readAmount: Reader<Nanos> = (text) => {
  const value = parseUsd(text);
  if (value !== undefined) return { ok: true, value };
  return {
    ok: false,
    expected: 'Expected an amount of USD such as 25 or 0.50: nine decimals, and a billion, at most.',
  };
};

export const readAmountAboveZero: Reader<Nanos> = (text) => {
  const reading = readAmount(text);
  return reading.ok && reading.value === 0n ? { ok: false, expected: 'Expected more than 0.' } : reading;
};

export const readKeyName: Reader<string> = (text) => {
  const fault = checkKeyName(text);
  if (fault === undefined) return { ok: true, value: text };
  return { ok: false, expected: `${fault[0]?.toUpperCase()}${fault.slice(1)}.` };
};

export const readModelId: Reader<string> = (text) => {
  if (/^[^/\s]+\/\S+$/.test(text)) return { ok: true, value: text };
  return { ok: false, expected: 'Expected <provider>/<model>, such as openai/gpt-4o-mini.' };
};

const MAX_NOTE_CHARACTERS = 500;

export const readNote: Reader<string> = (text) => {
  if (text.length <= MAX_NOTE_CHARACTERS && !/\p{Cc}/u.test(text)) return { ok: true, value: text };
  return { ok: false, expected: `Expected ${MAX_NOTE_CHARACTERS} characters at most, and no control characters.` };
};

/** A word that stands for a value, beside what another reader takes. */
export function orWord<T, W extends string>(word: W, reader: Reader<T>): Reader<T | W> {
  return (text) => (text === word ? { ok: true, value: word } : reader(text));
}

/** Why a key could not be changed, and what to do. */
export function whyNot(change: Exclude<KeyChange, { kind: 'done' }>, idOrName: string): string {
  const name = JSON.stringify(idOrName);
  switch (change.kind) {
    case 'no_such_key':
      return `there is no key ${name}; \`${PROGRAM} keys list\` shows those there are`;
    case 'deleted':
      return `the key ${name} was deleted, which is for ever; make another with ${PROGRAM} keys create`;
    case 'name_taken':
      return `there is a key named ${name} already; take another name, or delete that key first`;
  }
}
