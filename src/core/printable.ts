/** What can be shown in a terminal, in a message and in a line of the log. */
import { redactKeys } from './api-key.ts';

const MAX_NAME_CHARACTERS = 200;

/** Control, format and line-separating characters: they move the cursor or turn the direction of text. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const EVERY_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

/** Whether a text has no character that could forge the output of a terminal. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

/** Replaces whatever could forge the output of a terminal with U+FFFD. */
export function replaceUnprintable(text: string): string {
  return text.replace(EVERY_UNPRINTABLE, '\ufffd');
}

/** Makes a name safe to show: no control characters, no keys, at most 200 characters. */
export function printableName(name: string): string {
  const clean = redactKeys(name.replace(/\p{C}+/gu, ' '));
  return clean.length > MAX_NAME_CHARACTERS ? `${clean.slice(0, MAX_NAME_CHARACTERS)}…` : clean;
}
