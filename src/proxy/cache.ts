/** Which requests may be answered from the cache of answers, and by what they are known there. */
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

/** Where answers are kept. What goes wrong there is nobody's failure: a look-up finds nothing then. */
export interface AnswerCache {
  /** An answer that is younger than `ttlMs`. */
  find(place: AnswerPlace, ttlMs: number): Promise<CachedAnswer | undefined>;
  add(place: AnswerPlace, answer: CachedAnswer, terms: CacheTerms): void;
  countSaving(saving: Saving): void;
}

/** What the cache is for one request. */
export interface Caching {
  readonly place: AnswerPlace;
  readonly terms: CacheTerms;
  /** Whether its client takes an answer from there. */
  readonly mayFind: boolean;
}

/** A longer body is not looked up: to read it once more would delay others. In characters. */
const MAX_BODY_LENGTH = 1024 * 1024;

/** What names an end user or another cache, and is in no answer of the dialect. Answers of other dialects are not kept. */
const UNREAD: Readonly<Partial<Record<DialectName, ReadonlySet<string>>>> = {
  chat: new Set(['user', 'safety_identifier', 'prompt_cache_key', 'prompt_cache_retention', 'metadata']),
  messages: new Set(['metadata']),
  embeddings: new Set(['user']),
  // These answers quote what was asked.
  responses: new Set(),
  gemini: new Set(),
};

/** `clientHeaders`: the headers of the client, in lower case. `keyId`: who asks. Undefined where the cache has no part in it. */
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
  // Not every dialect says in the body whether the answer is a stream.
  const facts = [VERSION, terms.fingerprint, scope, model.id, dialect, request.stream, capTokens ?? null, headers];
  const hash = createHash('sha256').update(JSON.stringify(facts));
  hashBody(request.body, unread, hash);
  return {
    place: { id: hash.digest('hex'), model: model.id },
    terms,
    // By `max-age=0` browsers say so for their pages.
    mayFind: !directives.has('no-cache') && !directives.has('max-age=0'),
  };
}

/** Whether a host is to keep the answer, so that each has an id of its own. */
function keepsState({ body: { fields }, state }: ModelRequest): boolean {
  return fields.store === true || (state?.mayKeep === true && state.isKept);
}

/** What is at an address, or at the host, may be something else the next time. */
function namesWhatIsElsewhere(request: ModelRequest): boolean {
  return readInput(request).attachments.some(
    (each) => each.kind === 'reference' || (each.kind === 'image' && each.isFetched === true),
  );
}

/**
 * Without the white space between its parts, and without regard to the order of the fields at the top. All else counts as
 * it is spelled: the order of the fields of a schema, say, can change an answer, and so could the spelling of a number.
 */
function hashBody({ text, members }: JsonBody, unread: ReadonlySet<string>, hash: ReturnType<typeof createHash>): void {
  const counted = members.filter(({ key }) => key !== 'model' && !unread.has(key));
  for (const { key, valueStart, valueEnd } of counted.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const value = withoutSpace(text.slice(valueStart, valueEnd));
    // As if they were not there: what they say is the default.
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
