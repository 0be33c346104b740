/**
 * Responses stored at a host: checks that referenced ids belong to the key, and estimates their tokens. Foreign and
 * nonexistent ids get the same error.
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
  /** Returns the ids that belong to the key. */
  find(keyId: string, ids: readonly string[]): Promise<readonly KeptId[]>;
  add(response: KeptResponse): Promise<void>;
  drop(keyId: string, responseId: string): Promise<void>;
}

/**
 * Maximum number of references, more than conversations have. A look-up of so many takes tens of milliseconds, during which
 * others wait.
 */
const MAX_REFERENCES = 10_000;
const TOO_MANY_REFERENCES: ClientError = {
  code: 'invalid_request',
  message: `input: expected at most ${MAX_REFERENCES} references to what the provider keeps`,
};

export type Bringing =
  | { readonly ok: true; readonly permitted: Permitted }
  | { readonly ok: false; readonly error: ClientError };

/** The references to responses that the host stores for keys. At other hosts, these items are ordinary input. */
export function referencesTo({ request: { state } }: Pick<Target, 'request'>): readonly Reference[] {
  return state?.mayKeep === true ? state.references : [];
}

/** The stores to search. `providers`: the active ones, by name. */
export interface KeptSources {
  readonly keeper: Keeper;
  readonly providers: ReadonlyMap<string, Provider>;
}

/** Resolves the references of a request. The request can only be sent to the upstream that stores them. */
export async function bringIn(
  { keeper, providers }: KeptSources,
  keyId: string,
  permitted: Permitted,
): Promise<Bringing> {
  const [target, ...fallbacks] = permitted.targets;
  const references = referencesTo(target);
  if (references.length === 0) {
    // An item that is plain input for the first host may be a reference at the host of a fallback.
    const others = fallbacks.filter((each) => referencesTo(each).length === 0);
    return { ok: true, permitted: { ...permitted, targets: [target, ...others] } };
  }
  if (references.length > MAX_REFERENCES) return { ok: false, error: TOO_MANY_REFERENCES };
  const members = providers.get(target.model.provider)?.members ?? [];
  const names = new Set(members.map(({ name }) => name));
  // The gateway never records ids of other shapes.
  const ids = new Set(references.map(({ id }) => id).filter((id) => quotableId(id) !== undefined));
  const found = await keeper.find(keyId, [...ids]);
  const known = new Map(found.filter(({ upstream }) => names.has(upstream)).map((each) => [each.id, each]));
  const named = references.map((reference) => ({ reference, kept: known.get(reference.id) }));
  const upstream = named.find(({ kept }) => kept !== undefined)?.kept?.upstream;
  // All references must be stored at the same account.
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

/** The maximum of tokens that the references bring in. A model other than the author may count them differently. */
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

/** Items of one response together have at most its tokens, multiplied by the number of repetitions. */
function tokensOfItems(items: readonly Named[]): number {
  const times = Map.groupBy(items, ({ kept }) => kept.id);
  const most = Math.max(...items.map(({ kept }) => kept.tokens));
  return most * Math.max(...Array.from(times.values(), ({ length }) => length));
}

/** The provider of an upstream. Upstream names are the provider's name, or that name with `#` and a number. */
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

/** The record of an answer that the host stores, so that the key can refer to it later; undefined if not. */
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
  // The host may read parts again that it truncated for this answer.
  const isCut = request.body.fields.truncation === 'auto' || request.summarizesAbove !== undefined;
  const read = isCut ? Math.max(reported, inputTokens + usage.completionTokens) : reported;
  const tokens = read + kept.images * imageTokens(undefined, false, model);
  const items = kept.items
    .slice(0, MAX_KEPT_ITEMS)
    .map(({ id, isWritten }) => ({ id, tokens: isWritten ? usage.completionTokens : tokens }));
  return { keyId, id: kept.id, tokens, items, upstream: served.upstream, model: model.id, atMs: nowMs };
}
