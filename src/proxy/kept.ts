/**
 * State at a host: which of the responses that it keeps belong to the key that refers to them, and what they bring into a
 * request. A foreign id is told apart from one that nobody has by nothing.
 */
import type { Model } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { type KeptId, type KeptResponse, MAX_KEPT_ITEMS } from '../core/kept-responses.ts';
import { printableName } from '../core/printable.ts';
import { quotableId } from '../dialects/answer.ts';
import { imageTokens } from '../dialects/attachments.ts';
import type { Reference } from '../dialects/dialect.ts';
import type { RequestEnd } from '../observe/monitor.ts';
import type { Metered } from '../relay/meter.ts';
import type { Provider } from '../upstream/provider.ts';
import type { Admitted } from './admitted.ts';
import type { Permitted, Target } from './plan.ts';

export interface Keeper {
  /** Those of these ids that belong to a key. */
  find(keyId: string, ids: readonly string[]): Promise<readonly KeptId[]>;
  add(response: KeptResponse): Promise<void>;
  drop(keyId: string, responseId: string): Promise<void>;
}

/** More than conversations have. To look up so many takes tens of milliseconds, in which others wait. */
const MAX_REFERENCES = 10_000;
const TOO_MANY_REFERENCES: ClientError = {
  code: 'invalid_request',
  message: `input: expected at most ${MAX_REFERENCES} references to what the provider keeps`,
};

export type Bringing =
  | { readonly ok: true; readonly permitted: Permitted }
  | { readonly ok: false; readonly error: ClientError };

/** What a request refers to at a host that keeps it for keys. At others such an item is no more than what it says. */
export function referencesTo({ request: { state } }: Pick<Target, 'request'>): readonly Reference[] {
  return state?.mayKeep === true ? state.references : [];
}

/** Where to look for what is kept. `providers`: the active ones, by name. */
export interface KeptPlaces {
  readonly keeper: Keeper;
  readonly providers: ReadonlyMap<string, Provider>;
}

/** What a request of this key brings in by its references. It can go only to the host that has them. */
export async function bringIn(
  { keeper, providers }: KeptPlaces,
  keyId: string,
  permitted: Permitted,
): Promise<Bringing> {
  const [target, ...fallbacks] = permitted.targets;
  const references = referencesTo(target);
  if (references.length === 0) {
    // What is no reference at the host of this model may be one at that of a fallback.
    const others = fallbacks.filter((each) => referencesTo(each).length === 0);
    return { ok: true, permitted: { ...permitted, targets: [target, ...others] } };
  }
  if (references.length > MAX_REFERENCES) return { ok: false, error: TOO_MANY_REFERENCES };
  const members = providers.get(target.model.provider)?.members ?? [];
  const names = new Set(members.map(({ name }) => name));
  // Whatever else a client names is nobody's.
  const ids = new Set(references.map(({ id }) => id).filter((id) => quotableId(id) !== undefined));
  const found = await keeper.find(keyId, [...ids]);
  const known = new Map(found.filter(({ upstream }) => names.has(upstream)).map((each) => [each.id, each]));
  const named = references.map((reference) => ({ reference, kept: known.get(reference.id) }));
  const upstream = named.find(({ kept }) => kept !== undefined)?.kept?.upstream;
  // Of several accounts one has it.
  const missing = named.find(({ reference, kept }) => kept?.upstream !== upstream || !isOf(reference, kept));
  if (missing !== undefined || upstream === undefined) return refusedFor(missing?.reference ?? references[0]);
  const tokens = tokensOf(named as readonly Named[], target.model);
  if (typeof tokens !== 'number') return { ok: false, error: tokens };
  return { ok: true, permitted: { ...permitted, targets: [target], brought: { tokens, upstream } } };
}

interface Named {
  readonly reference: Reference;
  readonly kept: KeptId;
}

function refusedFor(reference: Reference | undefined): Bringing {
  return { ok: false, error: notFound(reference as Reference) };
}

/** What they bring in at most. Another model than the one that made it may read it as another number of tokens. */
function tokensOf(named: readonly Named[], { id, contextWindow }: Model): number | ClientError {
  const other = named.find(({ kept }) => kept.model !== id);
  if (other !== undefined) return contextWindow ?? ofOtherModel(other.reference);
  const responses = named.filter(({ reference }) => reference.kind === 'response').map(({ kept }) => kept.tokens);
  const items = Map.groupBy(
    named.filter(({ reference }) => reference.kind === 'item'),
    ({ kept }) => kept.responseId,
  );
  return [...responses, ...Array.from(items.values(), tokensOfItems)].reduce((sum, each) => sum + each, 0);
}

/** Of items of one response: together they are no more than it, each time that they are named. */
function tokensOfItems(items: readonly Named[]): number {
  const times = Map.groupBy(items, ({ kept }) => kept.id);
  const most = Math.max(...items.map(({ kept }) => kept.tokens));
  return most * Math.max(...Array.from(times.values(), ({ length }) => length));
}

/** The name of a provider has no such sign; those of its upstreams have a number after it. */
export function providerOfUpstream(upstream: string): string {
  return upstream.split('#', 1)[0] as string;
}

function isOf({ kind, id }: Reference, kept: KeptId | undefined): kept is KeptId {
  return kept !== undefined && (kind === 'item' || kept.responseId === id);
}

const NAMES: Readonly<Record<Reference['kind'], string>> = { response: 'Previous response', item: 'Item' };

function notFound({ kind, id }: Reference): ClientError {
  return { code: 'invalid_request', status: 404, message: `${NAMES[kind]} with id '${printableName(id)}' not found.` };
}

function ofOtherModel({ field }: Reference): ClientError {
  const why =
    'another model has made it, and this one may read it as another number of tokens; ask that one again, or send the conversation in input';
  return { code: 'invalid_request', message: `${field}: ${why}` };
}

/** What is written down of an answer that its host keeps for the key, so that it can refer to it; undefined if nothing. */
export function keptOf(
  { exchange, request, dispatch }: Admitted,
  { kept }: Metered,
  { usage, served }: Pick<RequestEnd, 'usage' | 'served'>,
  nowMs: number,
): KeptResponse | undefined {
  const { keyId } = exchange;
  const { route } = dispatch ?? {};
  if (kept === undefined || keyId === undefined || served === undefined || route === undefined) return undefined;
  const { hosted, model, inputTokens } = route;
  if (hosted.request.state?.mayKeep !== true || !hosted.request.state.isKept) return undefined;
  const reported = usage.promptTokens + usage.completionTokens;
  // What a host left out of this answer it may read again for the next.
  const isCut = request.body.fields.truncation === 'auto' || request.summarizesAbove !== undefined;
  const read = isCut ? Math.max(reported, inputTokens + usage.completionTokens) : reported;
  const tokens = read + kept.images * imageTokens(undefined, false, model);
  const items = kept.items
    .slice(0, MAX_KEPT_ITEMS)
    .map(({ id, isWritten }) => ({ id, tokens: isWritten ? usage.completionTokens : tokens }));
  return { keyId, id: kept.id, tokens, items, upstream: served.upstream, model: model.id, atMs: nowMs };
}
