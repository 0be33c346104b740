/** Who a request was for, as its client says: for reports of who spent what. */
import { redactKeys } from './api-key.ts';

/** What a name stands for: the end user, the operator's tag, the program that called. */
export const NAME_KINDS = ['user', 'tag', 'app'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** The names of one request. Empty where it has none. */
export type SpentBy = Readonly<Record<NameKind, string>>;

/**
 * How many names of a kind get sums of their own in a month, and how many a report shows. A client that sends a new name
 * with each request would otherwise make a row with each.
 *
 * A key gets a place for one more name while it has fewer than there are places that no key has: half of all at most,
 * and the next key half of what is left. So none can fill the places of all others. Once a key has got no place it gets
 * none for the rest of the month, not even for a name that another key has a place for: its earlier requests with that
 * name count as others, too.
 */
export const MAX_NAMES = 1_000;

/** What all further names count as. */
export const OTHER_NAMES = 'other';

/** The name of an end user in UTF-8. Limits know users by it, so it is never cut. */
export const MAX_END_USER_BYTES = 256;

export function isEndUser(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_END_USER_BYTES) return false;
  return name.isWellFormed() && Buffer.byteLength(name) <= MAX_END_USER_BYTES;
}

/** In reports, longer names are cut. */
export const MAX_NAME_CHARACTERS = 128;

/** Beyond this nothing of a name is looked at: a body may have megabytes of it. */
const MAX_READ = 4 * MAX_NAME_CHARACTERS;

/** Control, format and separating characters: they move a terminal's cursor, or turn the direction of text. */
const UNPRINTABLE = /[\p{C}\p{Z}]+/gu;

/** A name as reports show it, on one line; empty if it is no text. */
export function cleanName(name: unknown): string {
  if (typeof name !== 'string' || name === '') return '';
  const clean = redactKeys(name.slice(0, MAX_READ).replace(UNPRINTABLE, ' ').trim());
  if (clean.length <= MAX_NAME_CHARACTERS) return clean;
  // Not between the two halves of one character.
  return `${clean.slice(0, MAX_NAME_CHARACTERS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
