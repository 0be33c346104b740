/** Who a request was for: the user that its body names, the operator's tag, and the app by its User-Agent. */
import { isUtf8 } from 'node:buffer';
import { redactKeys } from '../core/api-key.ts';
import type { DialectName } from '../core/dialects.ts';
import { isObject, parseJson } from '../core/json.ts';
import type { SpentBy } from '../core/spent-by.ts';
import type { Fields } from '../dialects/dialect.ts';
import { appOf } from './app.ts';

/** Longer names are cut. */
export const MAX_NAME_CHARACTERS = 128;

/** Beyond this nothing of a name is looked at: a body may have megabytes of it. */
const MAX_READ = 4 * MAX_NAME_CHARACTERS;

/** Read by the gateway alone, and not sent upstream. */
const TAG_HEADER = 'x-inf-gw-tag';

/** Names in lower case. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What is read of a request. */
interface Named {
  readonly dialect: { readonly name: DialectName };
  readonly body: { readonly fields: Fields };
}

/** Undefined if it has none of these names. */
export function spentByOf(headers: Headers, request: Named): SpentBy | undefined {
  return named({ ...ofHeaders(headers), user: userOf(request) });
}

/** The same of a request whose body was not read: its user is not known. */
export function spentByHeaders(headers: Headers): SpentBy | undefined {
  return named({ ...ofHeaders(headers), user: '' });
}

function ofHeaders(headers: Headers): Omit<SpentBy, 'user'> {
  return { tag: tagOf(headers[TAG_HEADER]), app: appOf(String(headers['user-agent'] ?? '')) };
}

function named(names: SpentBy): SpentBy | undefined {
  return names.user === '' && names.tag === '' && names.app === '' ? undefined : names;
}

function userOf({ dialect, body: { fields } }: Named): string {
  // OpenAI's name for it from 2025 on is the second.
  if (dialect.name !== 'messages') return cleanName(fields.user) || cleanName(fields.safety_identifier);
  const { metadata } = fields;
  return isObject(metadata) ? cleanName(withoutSession(metadata.user_id)) : '';
}

const CLAUDE_CODE = /^user_([^_]+)_account_([^_]*)_session_[^_]+$/;

/** Claude Code puts device, account and session into one id, in two forms. Its user is the account, or the device. */
function withoutSession(id: unknown): unknown {
  if (typeof id !== 'string' || id.length > MAX_READ) return id;
  const [, device, account] = CLAUDE_CODE.exec(id) ?? [];
  if (device !== undefined) return account || device;
  if (!id.startsWith('{') || !id.includes('"session_id"')) return id;
  const parts = parseJson(id)?.value;
  return (isObject(parts) && (parts.account_uuid || parts.device_id)) || id;
}

function tagOf(header: string | readonly string[] | undefined): string {
  if (header === undefined) return '';
  // Node reads headers as Latin-1, and clients write UTF-8.
  const bytes = Buffer.from(String(header), 'latin1');
  return cleanName(isUtf8(bytes) ? bytes.toString('utf8') : String(header));
}

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
