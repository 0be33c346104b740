/** Text that is safe to show in a terminal, a message or a log line. */
import { redactKeys } from './api-key.ts';

const MAX_NAME_CHARACTERS = 200;

/** Control, format and line-separating characters: they move the cursor or turn the direction of text. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;
const EVERY_UNPRINTABLE = new RegExp(UNPRINTABLE, 'gu');

/** Reports whether a text is free of characters that could forge terminal output. */
export function isPrintable(text: string): boolean {
  return !UNPRINTABLE.test(text);
}

/** Replaces characters that could forge terminal output with U+FFFD. */
export function replaceUnprintable(text: string): string {
  return text.replace(EVERY_UNPRINTABLE, '\ufffd');
}

/** Makes a name safe to show: no control characters, no keys, at most 200 characters. */
export function printableName(name: string): string {
  const clean = redactKeys(name.replace(/\p{C}+/gu, ' '));
  return clean.length > MAX_NAME_CHARACTERS ? `${clean.slice(0, MAX_NAME_CHARACTERS)}…` : clean;
}
