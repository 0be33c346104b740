/** Parses upstream errors in the hosts' formats, and decides which messages a client may read. */
import { isObject, objectOf, objectsIn } from '../core/json.ts';
import { holdsCredential, holdsSecret, type Secrets } from './secrets.ts';

/** The content of an upstream's error. */
export interface UpstreamWords {
  readonly message: string;
  /** Its codes and types if they are strings or numbers. */
  readonly labels: readonly string[];
}

/** No host nests errors deeper. */
const MAX_ERROR_LEVELS = 4;
/** Longer messages are withheld entirely. */
const MAX_SEARCHED_CHARACTERS = 8_000;
/** Longer than any helpful message. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/** Whether a parsed response is an error, whatever its status. Some hosts send it unwrapped, as `{object: "error"}`. */
export function isErrorValue(value: unknown): boolean {
  return isObject(value) && (Boolean(value.error) || value.object === 'error');
}

/**
 * Parses `{error: {message, …}}`, `{error: text}`, `{message, …}`, `{detail: …}`, or an array of any of these. Undefined
 * without a message.
 */
export function readErrorValue(value: unknown, levels = MAX_ERROR_LEVELS): UpstreamWords | undefined {
  if (levels === 0) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : readErrorValue(value[0], levels - 1);
  if (typeof value === 'string') return words(value, {});
  if (!isObject(value)) return undefined;
  if (isObject(value.error))
    return readErrorValue({ message: value.error.message, ...labelsOf(value.error) }, levels - 1);
  if (typeof value.error === 'string') return words(value.error, value);
  if (typeof value.message === 'string') return words(value.message, value);
  if (typeof value.msg === 'string') return words(value.msg, value);
  if (value.detail !== undefined) return readErrorValue(value.detail, levels - 1);
  return undefined;
}

/** Returns the retry delay in the details of Google's errors, in the format of `Retry-After`. */
export function retryDelayIn(value: unknown): string | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  const error = objectOf(objectOf(first).error);
  const details = objectsIn(error.details);
  const delay = details.map(({ retryDelay }) => retryDelay).find((each) => typeof each === 'string');
  return delay?.replace(/s$/, '');
}

function labelsOf(value: Record<string, unknown>): Record<string, unknown> {
  return { code: value.code, type: value.type, status: value.status, param: value.param };
}

function words(message: string, fields: Record<string, unknown>): UpstreamWords | undefined {
  // Control characters could forge log lines and terminals.
  const clean = message.replace(/\p{Cc}+/gu, ' ').trim();
  if (clean === '') return undefined;
  const labels = [fields.code, fields.type, fields.status].filter(
    (label) => typeof label === 'string' || typeof label === 'number',
  );
  return { message: clean, labels: labels.map(String) };
}

/**
 * Matches messages about the operator's own key, account or balance at the host. Some hosts send them with a 400. The
 * client cannot fix the cause and must not read about it.
 */
const ABOUT_THE_OPERATOR = new RegExp(
  [
    'api[\\s_-]*key',
    'access[\\s_-]*token',
    'authenti(?:cat|fic)',
    'authoriz',
    'credential',
    'billing',
    'payment',
    'subscription',
    'organi[sz]ation',
    'your (?:account|plan|credit|balance|quota|project)',
    'account[\\s_-](?:is|has|was|not|de|sus|inactive|disabled)',
    '(?:insufficient|not enough|low|exceeded)[\\s_-](?:[^\\W_]+[\\s_-]){0,2}(?:credit|balance|quota|funds)',
    '(?:credit|balance|quota|funds)[\\s_-](?:[^\\W_]+[\\s_-]){0,3}(?:insufficient|exceeded|exhausted|too low|low)',
  ].join('|'),
  'i',
);

/**
 * A quoted identifier, such as a function or field from the request. Quoted sentences are the host's own in any quotes. An
 * apostrophe is not a quote.
 */
const QUOTED_IDENTIFIER = /(?<!\w)'[\w$.:[\]/-]{1,64}'(?!\w)|"[\w$.:[\]/-]{1,64}"|`[\w$.:[\]/-]{1,64}`/g;

/** A quoted code such as `insufficient_quota` is not a name: it contains one of these subjects and a state. */
const SUBJECT =
  /(?:^|_)(?:accounts?|auth\w*|balance|billing|credits?|api_?key|organi[sz]ation|payment|quota|subscription|funds)(?:_|$)/;
const STATE =
  /(?:^|_)(?:deactivated|denied|disabled|error|exceeded|exhausted|expired|failed|inactive|incorrect|insufficient|invalid|low|not|overdue|reached|revoked|suspended|unpaid)(?:_|$)/;

function isCodeAboutTheOperator(identifier: string): boolean {
  const words = identifier
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/\W+/g, '_')
    .toLowerCase();
  return SUBJECT.test(words) && STATE.test(words);
}

export function isAboutTheOperator(words: UpstreamWords): boolean {
  // Hosts echo client input. A longer message is not searched and never forwarded.
  if (words.message.length > MAX_SEARCHED_CHARACTERS) return false;
  let isCodeQuoted = false;
  const said = words.message.replace(QUOTED_IDENTIFIER, (quoted) => {
    isCodeQuoted ||= isCodeAboutTheOperator(quoted.slice(1, -1));
    return ' ';
  });
  return isCodeQuoted || [said, ...words.labels].some((text) => ABOUT_THE_OPERATOR.test(text));
}

/** Statuses whose upstream messages are withheld, and for which retries cannot help. */
export const WITHHELD_STATUSES: ReadonlySet<number> = new Set([401, 403, 404]);

/** Statuses that hosts of the messages dialect send by name. */
const NAMED_STATUSES: ReadonlyMap<string, number> = new Map([
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
]);

/** Returns the error status among the labels, which hosts send in responses with status 200. */
export function statusIn({ labels }: UpstreamWords): number | undefined {
  const number = labels.map(Number).find((label) => label >= 400 && label < 600);
  return number ?? labels.map((label) => NAMED_STATUSES.get(label)).find((status) => status !== undefined);
}

/** Whether clients may read an error next to the choices of an answer, with all its fields. */
export function isForClients(error: unknown, secrets: Secrets): boolean {
  const words = readErrorValue({ error });
  if (words !== undefined && WITHHELD_STATUSES.has(statusIn(words) ?? 0)) return false;
  const everything = { message: JSON.stringify(error), labels: words?.labels ?? [] };
  return [words ?? everything, everything].every((each) => wordsForClients(each, secrets) !== undefined);
}

/**
 * Returns the message for clients. Undefined if it is about the operator or contains a secret (the upstream's credential,
 * address and headers).
 */
export function wordsForClients(words: UpstreamWords, secrets: Secrets): string | undefined {
  if (words.message.length > MAX_SEARCHED_CHARACTERS) return undefined;
  if (isAboutTheOperator(words) || holdsSecret(words.message, secrets)) return undefined;
  // Whitespace may split a credential. Shorter secrets are excluded, since joined words could form them.
  if (holdsCredential(words.message.replace(/\s+/g, ''), secrets)) return undefined;
  // Truncated only after the search: a cut could leave part of a secret.
  return words.message.slice(0, MAX_MESSAGE_CHARACTERS);
}
