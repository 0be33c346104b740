/**
 * Removes what a client must not read from an answer that is otherwise relayed as it is: secrets of
 * the operator, and errors about the operator's account.
 */
import { isObject } from '../core/json.ts';
import { applyEdits, type Edit, type Member, membersOf, NestingError } from './members.ts';
import { holdsCredential, holdsVerbatim, type Secrets } from './secrets.ts';
import { isForClients } from './upstream-error.ts';

const WITHHELD = '[withheld]';
const WITHHELD_ERROR = { code: 'upstream_error', message: 'The provider reported an error.' } as const;

/**
 * The text of an answer without what a client must not read; members without any keep their bytes.
 * Undefined if there is nothing to remove, which is almost always so, and found out at almost no
 * cost. `format`: members of the format. Models write into these, and may name any host: only
 * credentials are removed from them.
 */
export function withoutSecrets(
  text: string,
  answer: Readonly<Record<string, unknown>>,
  secrets: Secrets,
  format: ReadonlySet<string>,
): string | undefined {
  if (!holdsCredential(text, secrets) && !hasErrorInChoice(answer) && !isSuspect(answer, secrets, format))
    return undefined;
  try {
    const edits = membersOf(text, 0).flatMap((member) => editsOf(member, text, secrets, format));
    return edits.length === 0 ? undefined : applyEdits(text, edits);
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    // No completion is nested that deeply.
    return JSON.stringify({ error: WITHHELD_ERROR });
  }
}

/** Whether an answer has an error, or a secret in a member that is not of the format. */
function isSuspect(answer: Readonly<Record<string, unknown>>, secrets: Secrets, format: ReadonlySet<string>): boolean {
  for (const name in answer) {
    if (format.has(name)) continue;
    const value = answer[name];
    if (name === 'error' ? Boolean(value) : isSecret(name, secrets)) return true;
    // Some hosts name a provider in every chunk: a short text is not worth writing as JSON.
    const text = typeof value === 'string' ? value : value ? JSON.stringify(value) : '';
    if (isSecret(text, secrets)) return true;
  }
  return false;
}

function hasErrorInChoice({ choices }: Readonly<Record<string, unknown>>): boolean {
  if (!Array.isArray(choices)) return false;
  for (const choice of choices) if (isObject(choice) && choice.error) return true;
  return false;
}

function editsOf(
  { key, keyStart, valueStart, valueEnd }: Member,
  text: string,
  secrets: Secrets,
  format: ReadonlySet<string>,
): Edit[] {
  const value: unknown = JSON.parse(text.slice(valueStart, valueEnd));
  const clean = cleanMember(key, value, secrets, format);
  const edits = clean === value ? [] : [{ start: valueStart, end: valueEnd, replacement: JSON.stringify(clean) }];
  if (format.has(key) || !isSecret(key, secrets)) return edits;
  return [...edits, { start: keyStart, end: valueStart, replacement: `"${WITHHELD}":` }];
}

/** The same value if there is nothing to remove. */
function cleanMember(name: string, value: unknown, secrets: Secrets, format: ReadonlySet<string>): unknown {
  if (name === 'error') return cleanError(value, secrets);
  if (name === 'choices' && Array.isArray(value)) return mapItems(value, (choice) => cleanChoice(choice, secrets));
  return format.has(name) ? withoutCredentials(value, secrets) : withoutAnySecret(value, secrets);
}

function cleanChoice(choice: unknown, secrets: Secrets): unknown {
  const clean = withoutCredentials(choice, secrets);
  if (!isObject(clean) || !clean.error) return clean;
  const error = cleanError((choice as { error: unknown }).error, secrets);
  return error === clean.error ? clean : { ...clean, error };
}

/** An error beside choices is passed on whole, or not at all. */
function cleanError(error: unknown, secrets: Secrets): unknown {
  return !error || isForClients(error, secrets) ? error : WITHHELD_ERROR;
}

/** For what a model has written: it keeps everything but credentials. */
function withoutCredentials(value: unknown, secrets: Secrets): unknown {
  return mapStrings(value, (text) =>
    secrets.credentials.reduce((clean, credential) => clean.replaceAll(credential, WITHHELD), text),
  );
}

/** For what only the host can have written. */
function withoutAnySecret(value: unknown, secrets: Secrets): unknown {
  return mapStrings(value, (text) => (isSecret(text, secrets) ? WITHHELD : text));
}

function isSecret(text: string, secrets: Secrets): boolean {
  return holdsCredential(text, secrets) || holdsVerbatim(text, secrets);
}

/**
 * Replaces every text and name within a value. The same value if none has changed. The recursion is
 * bounded by MAX_JSON_DEPTH.
 */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return mapItems(value, (item) => mapStrings(item, change));
  if (!isObject(value)) return value;
  const before = Object.entries(value).flat();
  const after = mapItems(before, (item) => mapStrings(item, change));
  if (after === before) return value;
  return Object.fromEntries(Array.from({ length: after.length / 2 }, (_, i) => [after[2 * i], after[2 * i + 1]]));
}

/** The same list if no item has changed. */
function mapItems(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change);
  return changed.every((item, i) => item === items[i]) ? items : changed;
}
