/**
 * Removes the operator's secrets and errors about the operator's account from an answer that is otherwise relayed
 * unchanged.
 */
import { isObject, readJson } from '../core/json.ts';
import { applyEdits, type Edit, type Member, membersOf, NestingError } from './members.ts';
import { holdsCredential, holdsVerbatim, type Secrets } from './secrets.ts';
import { isForClients } from './upstream-error.ts';

const WITHHELD = '[withheld]';
const WITHHELD_ERROR = { code: 'upstream_error', message: 'The provider reported an error.' } as const;

/**
 * Returns the text of an answer without secrets; members without any keep their bytes. Undefined if the answer is clean,
 * which is the usual case and cheap to detect. `format`: members of the format. Models write into these and may name any
 * host, so only credentials are removed from them.
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
    // No completion is nested this deeply.
    return JSON.stringify({ error: WITHHELD_ERROR });
  }
}

/** Members of an answer's items and blocks that models and tools write, and their identifiers. */
const PART_FIELDS: ReadonlySet<string> = new Set(
  'id type status role name namespace text refusal annotations citation citations logprobs thinking signature data summary content encrypted_content partial_json arguments input action actions operation queries results result revised_prompt code output outputs tools title context stop_reason stop_sequence container'.split(
    ' ',
  ),
);
/** Objects in events that contain an answer. */
const ANSWERS: ReadonlySet<string> = new Set(['response', 'message']);
/** Parts of an answer in events. */
const PARTS: ReadonlySet<string> = new Set(['item', 'content_block', 'part', 'delta']);
/** Lists of the parts of an answer. */
const PART_LISTS: ReadonlySet<string> = new Set(['output', 'content']);

/**
 * The origin of a member. `written`: by a model or a tool, or free of secrets. `foreign`: only the host can have written
 * it.
 */
type Kind = 'error' | 'choices' | 'answer' | 'part' | 'parts' | 'written' | 'foreign';

function kindOf(name: string, value: unknown, fields: ReadonlySet<string>): Kind {
  if (name === 'error') return 'error';
  if (!fields.has(name)) return 'foreign';
  if (fields === PART_FIELDS) return 'written';
  if (Array.isArray(value)) return name === 'choices' ? name : PART_LISTS.has(name) ? 'parts' : 'written';
  if (ANSWERS.has(name)) return isObject(value) ? 'answer' : 'foreign';
  return isObject(value) && PARTS.has(name) ? 'part' : 'written';
}

/** Whether an answer has an error, or a secret in a member outside the format. */
function isSuspect(answer: Readonly<Record<string, unknown>>, secrets: Secrets, format: ReadonlySet<string>): boolean {
  for (const name in answer) if (isMemberSuspect(name, answer[name], secrets, format)) return true;
  return false;
}

function isMemberSuspect(name: string, value: unknown, secrets: Secrets, fields: ReadonlySet<string>): boolean {
  switch (kindOf(name, value, fields)) {
    case 'written':
    case 'choices':
      return false;
    case 'error':
      return Boolean(value);
    case 'answer':
      return isSuspect(value as Record<string, unknown>, secrets, fields);
    case 'part':
      return isSuspect(value as Record<string, unknown>, secrets, PART_FIELDS);
    case 'parts':
      return (value as unknown[]).some((part) => isObject(part) && isSuspect(part, secrets, PART_FIELDS));
    case 'foreign': {
      if (isSecret(name, secrets)) return true;
      // Some hosts name a provider in every chunk; converting short strings to JSON is too slow.
      const text = typeof value === 'string' ? value : value ? JSON.stringify(value) : '';
      return isSecret(text, secrets);
    }
  }
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
  const value: unknown = readJson(text.slice(valueStart, valueEnd));
  const clean = cleanMember(key, value, secrets, format);
  const edits = clean === value ? [] : [{ start: valueStart, end: valueEnd, replacement: JSON.stringify(clean) }];
  if (format.has(key) || !isSecret(key, secrets)) return edits;
  return [...edits, { start: keyStart, end: valueStart, replacement: `"${WITHHELD}":` }];
}

/** Returns the same value if it is clean. */
function cleanMember(name: string, value: unknown, secrets: Secrets, fields: ReadonlySet<string>): unknown {
  switch (kindOf(name, value, fields)) {
    case 'error':
      return cleanError(value, secrets);
    case 'choices':
      return mapItems(value as unknown[], (choice) => cleanChoice(choice, secrets));
    case 'answer':
      return cleanMembers(value, secrets, fields);
    case 'part':
      return cleanMembers(value, secrets, PART_FIELDS);
    case 'parts':
      return mapItems(value as unknown[], (part) => cleanMembers(part, secrets, PART_FIELDS));
    case 'written':
      return withoutCredentials(value, secrets);
    case 'foreign':
      return withoutAnySecret(value, secrets);
  }
}

function cleanMembers(value: unknown, secrets: Secrets, fields: ReadonlySet<string>): unknown {
  if (!isObject(value)) return withoutCredentials(value, secrets);
  const before = Object.entries(value).flat();
  const after = mapItems(before, (item, i) => {
    if (i % 2 === 1) return cleanMember(before[i - 1] as string, item, secrets, fields);
    return fields.has(item as string) ? item : withoutAnySecret(item, secrets);
  });
  return after === before ? value : objectOf(after);
}

function cleanChoice(choice: unknown, secrets: Secrets): unknown {
  const clean = withoutCredentials(choice, secrets);
  if (!isObject(clean) || !clean.error) return clean;
  const error = cleanError((choice as { error: unknown }).error, secrets);
  return error === clean.error ? clean : { ...clean, error };
}

/** Returns an error within an answer unchanged, or withholds it entirely. */
function cleanError(error: unknown, secrets: Secrets): unknown {
  return !error || isForClients(error, secrets) ? error : WITHHELD_ERROR;
}

/** Removes credentials from model output. */
function withoutCredentials(value: unknown, secrets: Secrets): unknown {
  const credentials = [...secrets.credentials, ...(secrets.ofRequest ?? [])];
  return mapStrings(value, (text) =>
    credentials.reduce((clean, credential) => clean.replaceAll(credential, WITHHELD), text),
  );
}

/** Removes all secrets from members that only the host can have written. */
function withoutAnySecret(value: unknown, secrets: Secrets): unknown {
  return mapStrings(value, (text) => (isSecret(text, secrets) ? WITHHELD : text));
}

function isSecret(text: string, secrets: Secrets): boolean {
  return holdsCredential(text, secrets) || holdsVerbatim(text, secrets);
}

/**
 * Replaces every string and name within a value. Returns the same value if all are unchanged. MAX_JSON_DEPTH bounds the
 * recursion.
 */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return mapItems(value, (item) => mapStrings(item, change));
  if (!isObject(value)) return value;
  const before = Object.entries(value).flat();
  const after = mapItems(before, (item) => mapStrings(item, change));
  if (after === before) return value;
  return objectOf(after);
}

/** Builds an object from alternating names and values. */
function objectOf(entries: readonly unknown[]): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: entries.length / 2 }, (_, i) => [entries[2 * i], entries[2 * i + 1]]));
}

/** Returns the same list if all items are unchanged. */
function mapItems(items: readonly unknown[], change: (item: unknown, i: number) => unknown): readonly unknown[] {
  const changed = items.map(change);
  return changed.every((item, i) => item === items[i]) ? items : changed;
}
