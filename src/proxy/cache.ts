/** Decides which requests may be answered from the response cache, and computes their cache keys. */
import { createHash } from 'node:crypto';
import { toolsFor } from '../catalog/tool-cost.ts';
import type { AnswerPlace, CachedAnswer, CacheTerms, Saving } from '../core/cached-answers.ts';
import type { DialectName } from '../core/dialects.ts';
import { endOfString } from '../core/json-text.ts';
import { VERSION } from '../core/program.ts';
import type { ModelRequest } from '../dialects/dialect.ts';
import { readInput } from '../dialects/input.ts';
import type { JsonBody } from '../wire/body.ts';
import type { Permitted, Plan } from './plan.ts';

/** Stores cached answers. Its failures are not reported: a failed look-up is a miss. */
export interface AnswerCache {
  /** Returns an answer younger than `ttlMs`. */
  find(place: AnswerPlace, ttlMs: number): Promise<CachedAnswer | undefined>;
  add(place: AnswerPlace, answer: CachedAnswer, terms: CacheTerms): void;
  countSaving(saving: Saving): void;
}

/** The caching of one request. */
export interface Caching {
  readonly place: AnswerPlace;
  readonly terms: CacheTerms;
  /** Whether the client accepts a cached answer. */
  readonly mayFind: boolean;
}

/** Maximum length of a body that is looked up, in characters. Hashing a longer one would delay other requests. */
const MAX_BODY_LENGTH = 1024 * 1024;

/**
 * Fields left out of the cache key: they name an end user or another cache, and do not occur in answers of the dialect.
 * Answers of dialects without an entry are not cached.
 */
const UNREAD: Readonly<Partial<Record<DialectName, ReadonlySet<string>>>> = {
  chat: new Set(['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'metadata']),
  messages: new Set(['metadata']),
  embeddings: new Set(['user']),
  // These answers quote the request.
  responses: new Set(),
  gemini: new Set(),
};

/** `clientHeaders`: the client's headers, in lower case. Undefined if the request bypasses the cache. */
export function cachingOf(
  { request, headers, targets, brought }: Permitted,
  { routes: [{ capTokens }] }: Plan,
  clientHeaders: Readonly<Record<string, unknown>>,
  keyId: string | undefined,
): Caching | undefined {
  const [{ model, request: sent }] = targets;
  const { cache: terms } = model;
  const { name: dialect } = request.dialect;
  const unread = UNREAD[dialect];
  if (terms === undefined || unread === undefined || keyId === undefined) return undefined;
  if (terms.keyIds?.has(keyId) === false) return undefined;
  const { 'cache-control': control = '' } = clientHeaders;
  const directives = new Set(
    String(control)
      .split(',')
      .map((each) => each.trim().toLowerCase()),
  );
  if (directives.has('no-store')) return undefined;
  const asksHost = brought !== undefined || keepsState(sent) || toolsFor(model, model, sent.hostTools).length > 0;
  if (asksHost || request.body.text.length > MAX_BODY_LENGTH || namesWhatIsElsewhere(request)) return undefined;
  const scope = terms.isShared ? '' : keyId;
  // Not every dialect has the stream flag in the body.
  const facts = [VERSION, terms.fingerprint, scope, model.id, dialect, request.stream, capTokens ?? null, headers];
  const hash = createHash('sha256').update(JSON.stringify(facts));
  hashBody(request.body, unread, hash);
  return {
    place: { id: hash.digest('hex'), model: model.id },
    terms,
    // Browsers send `max-age=0` to force a reload.
    mayFind: !directives.has('no-cache') && !directives.has('max-age=0'),
  };
}

/** Whether the host stores the answer, so that each answer needs its own id. */
function keepsState({ body: { fields }, state }: ModelRequest): boolean {
  return fields.store === true || (state?.mayKeep === true && state.isKept);
}

/** Content behind a URL or stored at the host may change between requests. */
function namesWhatIsElsewhere(request: ModelRequest): boolean {
  return readInput(request).attachments.some(
    (each) => each.kind === 'reference' || (each.kind === 'image' && each.isFetched === true),
  );
}

/**
 * Hashes the body without white space and in a fixed order of its top-level fields. Nested values count as written: the order
 * of schema fields can change an answer, and so could the spelling of a number.
 */
function hashBody({ text, members }: JsonBody, unread: ReadonlySet<string>, hash: ReturnType<typeof createHash>): void {
  const counted = members.filter(({ key }) => key !== 'model' && !unread.has(key));
  for (const { key, valueStart, valueEnd } of counted.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const value = withoutSpace(text.slice(valueStart, valueEnd));
    // Skips explicit defaults.
    if (value === 'null' || (key === 'stream' && value === 'false')) continue;
    hash.update(`${JSON.stringify(key)}:${value},`);
  }
}

function withoutSpace(json: string): string {
  const parts: string[] = [];
  for (let at = 0; at < json.length; ) {
    const quote = json.indexOf('"', at);
    const start = quote < 0 ? json.length : quote;
    const end = quote < 0 ? json.length : endOfString(json, quote);
    parts.push(json.slice(at, start).replace(/[ \n\r\t]+/g, ''), json.slice(start, end));
    at = end;
  }
  return parts.join('');
}
