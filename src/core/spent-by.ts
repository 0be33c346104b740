/** Attribution of spend to names that clients send: end user, tag and app. */
import { redactKeys } from './api-key.ts';

/** Kinds of names: the end user, the operator's tag, and the calling program. */
export const NAME_KINDS = ['user', 'tag', 'app'] as const;
export type NameKind = (typeof NAME_KINDS)[number];

/** The names of one request; empty if absent. */
export type SpentBy = Readonly<Record<NameKind, string>>;

/**
 * Maximum number of names of a kind with separate sums per month, and in a report. Otherwise a client that sends a new name with
 * each request would add a row per request.
 *
 * A key may add a name while it has fewer names than there are unused slots: the first key gets at most half of all slots, the
 * next key half of the rest. One key therefore cannot exhaust the slots of all others. A key that was refused a slot gets no more
 * slots in that month, not even for a name with a slot of another key, since its earlier requests with that name were counted as
 * `other`.
 */
export const MAX_NAMES = 1_000;

/** The name under which all further names are counted. */
export const OTHER_NAMES = 'other';

/** Maximum length of an end user's name in UTF-8. It identifies the user in limits, so it is never truncated. */
export const MAX_END_USER_BYTES = 256;

export function isEndUser(name: unknown): name is string {
  if (typeof name !== 'string' || name === '' || name.length > MAX_END_USER_BYTES) return false;
  return name.isWellFormed() && Buffer.byteLength(name) <= MAX_END_USER_BYTES;
}

/** Reports truncate longer names. */
export const MAX_NAME_CHARACTERS = 128;

/** Only this many characters of a name are processed: a body may contain megabytes. */
const MAX_READ = 4 * MAX_NAME_CHARACTERS;

/** Control, format and separating characters: they move a terminal's cursor, or turn the direction of text. */
const UNPRINTABLE = /[\p{C}\p{Z}]+/gu;

/** Returns a name for reports, on one line; empty if it is not a string. */
export function cleanName(name: unknown): string {
  if (typeof name !== 'string' || name === '') return '';
  const clean = redactKeys(name.slice(0, MAX_READ).replace(UNPRINTABLE, ' ').trim());
  if (clean.length <= MAX_NAME_CHARACTERS) return clean;
  // Keep surrogate pairs whole.
  return `${clean.slice(0, MAX_NAME_CHARACTERS - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
