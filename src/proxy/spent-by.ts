/** Attributes a request: the end user named by a header or the body, the operator's tag, and the app from the User-Agent. */
import { isUtf8 } from 'node:buffer';
import { isObject, parseJson } from '../core/json.ts';
import { cleanName, isEndUser, MAX_END_USER_BYTES, type SpentBy } from '../core/spent-by.ts';
import { type UserField, userFields, userFieldVariant } from '../dialects/end-user.ts';
import type { JsonBody } from '../wire/body.ts';

/** Maximum length of an id that is parsed. */
const MAX_READ = 512;

/** The gateway reads these and does not send them upstream. */
const TAG_HEADER = 'x-inf-gw-tag';
const USER_HEADER = 'x-inf-gw-user';

/** By lower-case name. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The party that an app acts for, byte for byte as in the request; empty without a name. */
export type EndUser = { readonly ok: true; readonly name: string } | { readonly ok: false; readonly problem: string };

/** The end user of a request, from the header or else from a field of the body. `body`: as the client sent it. */
export function endUserOf(headers: Headers, body?: JsonBody): EndUser {
  const variant = body && userFieldVariant(body);
  if (variant !== undefined) return { ok: false, problem: variant };
  const header = headers[USER_HEADER];
  const places: readonly UserField[] = [
    { field: 'X-Inf-Gw-User', value: header === undefined ? header : utf8Of(header) },
    ...(body === undefined ? [] : userFields(body)),
  ];
  const named = places.find(({ value }) => value !== undefined && value !== null && value !== '');
  if (named === undefined) return { ok: true, name: '' };
  const name = named.field.startsWith('metadata') ? withoutSession(named.value) : named.value;
  if (isEndUser(name)) return { ok: true, name };
  const expected = `a string of at most ${MAX_END_USER_BYTES} bytes of UTF-8`;
  return { ok: false, problem: `${named.field}: expected the name of an end user, ${expected}` };
}

/** The header that names this end user, decoded as Latin-1 like by Node. */
export function headerNaming(user: string): Headers {
  return { [USER_HEADER]: Buffer.from(user).toString('latin1') };
}

/**
 * Node decodes headers as Latin-1, and clients write UTF-8. Invalid UTF-8 becomes a lone surrogate, which is rejected as a
 * name.
 */
function utf8Of(header: string | readonly string[]): string {
  const bytes = Buffer.from(String(header), 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : '\ud800';
}

/** `user`: the end user's name. Undefined if the request has no user, tag or app. */
export function spentByOf(headers: Headers, user: string): SpentBy | undefined {
  const names = {
    user: cleanName(user),
    tag: tagOf(headers[TAG_HEADER]),
    app: appOf(String(headers['user-agent'] ?? '')),
  };
  return names.user === '' && names.tag === '' && names.app === '' ? undefined : names;
}

/** The same for a request whose body was not read, or whose user is invalid. */
export function spentByHeaders(headers: Headers): SpentBy | undefined {
  const user = endUserOf(headers);
  return spentByOf(headers, user.ok ? user.name : '');
}

const CLAUDE_CODE = /^user_([^_]+)_account_([^_]*)_session_[^_]+$/;

/** Claude Code packs device, account and session into one id, in two formats. The user is the account, or else the device. */
function withoutSession(id: unknown): unknown {
  if (typeof id !== 'string' || id.length > MAX_READ) return id;
  const [, device, account] = CLAUDE_CODE.exec(id) ?? [];
  if (device !== undefined) return account || device;
  if (!id.startsWith('{') || !id.includes('"session_id"')) return id;
  const parts = parseJson(id)?.value;
  const names = isObject(parts) ? [parts.account_uuid, parts.device_id] : [];
  return names.find((name) => typeof name === 'string' && name !== '') ?? id;
}

function tagOf(header: string | readonly string[] | undefined): string {
  if (header === undefined) return '';
  // Node decodes headers as Latin-1, and clients write UTF-8.
  const bytes = Buffer.from(String(header), 'latin1');
  return cleanName(isUtf8(bytes) ? bytes.toString('utf8') : String(header));
}

/** Clients whose product token is not their name, or follows other tokens. The first match counts. */
const FAMILIES: readonly (readonly [agent: RegExp, app: string])[] = [
  [/^(?:async)?(?:azure)?openai\/js\b/i, 'openai-node'],
  [/^(?:async)?(?:azure)?openai[\w:]*\/(python|go|java|kotlin|ruby|php)\b/i, 'openai-$1'],
  [/^anthropic\w*\/js\b/i, 'anthropic-sdk-typescript'],
  [/^(?:async)?anthropic[\w:]*\/(python|go|java|kotlin|ruby|php)\b/i, 'anthropic-sdk-$1'],
  [/\bclaude-(?:cli|code)\//i, 'claude-cli'],
  [/\b(aider|opencode|cline|roo-?code|kilo-?code|codex_cli_rs|gemini-cli|litellm|langchain)\//i, '$1'],
  [/^geminicli\b/i, 'gemini-cli'],
  [/\bai-sdk\//i, 'ai-sdk'],
  [/\baiohttp\//i, 'aiohttp'],
  // Electron apps put their name between the engine and Chrome.
  [/^mozilla\/.*\) ([\w.-]{1,40})\/\S+ (?:\S+ )*chrome\/\S+ electron\//i, '$1'],
  [/^mozilla\/.*\b(?:firefox|edg|opr|chrome|crios|fxios|safari)\//i, 'browser'],
];

/** Maximum length of a product token that is not in the table. */
const MAX_TOKEN_CHARACTERS = 40;
const MAX_AGENT_CHARACTERS = 512;

/** Cache by User-Agent. Clients are few; a client that varies its User-Agent only causes the cache to be cleared often. */
const known = new Map<string, string>();
const MAX_KNOWN = 256;

/** Returns the app, or an empty string if the User-Agent names none. */
export function appOf(agent: string): string {
  const head = agent.slice(0, MAX_AGENT_CHARACTERS);
  const found = known.get(head);
  if (found !== undefined) return found;
  const app = familyOf(head) ?? productOf(head);
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(head, app);
  return app;
}

function familyOf(agent: string): string | undefined {
  for (const [pattern, app] of FAMILIES) {
    const match = pattern.exec(agent);
    if (match !== null) return app.replace('$1', (match[1] ?? '').toLowerCase());
  }
  return undefined;
}

/** The product token before the first slash. */
function productOf(agent: string): string {
  const [token = ''] = agent.trim().split(/[/\s;(]/, 1);
  return token.replace(/[^\w.+-]/g, '').slice(0, MAX_TOKEN_CHARACTERS);
}
