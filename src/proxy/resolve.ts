/** Resolves a request body to a model, and checks whether a key may use it. */
import type { Catalog, Model, NamedModel } from '../catalog/catalog.ts';
import { hasLongContext, LONG_CONTEXT_BETA, unmarkedName } from '../catalog/long-context.ts';
import type { DialectName } from '../core/dialects.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import type { Address, Dialect, Fields, ModelRequest } from '../dialects/dialect.ts';
import { isReachable } from '../translate/translate.ts';
import { readJsonBody } from '../wire/body.ts';
import { readForm } from '../wire/multipart.ts';
import { referencesTo } from './kept.ts';
import { type DialectHeaders, type Permitted, type Target, targetFor } from './plan.ts';
import { modelNotAllowed, modelNotFound, modelNotReached } from './refusals.ts';
import { endUserOf, type Headers } from './spent-by.ts';

/** A parsed body. `modelName` is the requested model in a printable form, if the body names one. */
export type Resolution =
  | {
      readonly ok: true;
      readonly modelName: string;
      readonly model: Model;
      /** The requested name of the model, if it is not its id. */
      readonly alias: string | undefined;
      readonly request: ModelRequest;
      readonly headers: DialectHeaders;
      /** The end user; empty if the request names none. */
      readonly user: string;
      /** Whether the requested name asks the host for the long context of its model. */
      readonly isLongContext: boolean;
      readonly target: Target;
    }
  | {
      readonly ok: false;
      readonly modelName: string | undefined;
      /** Set if the body names an existing model: then the allowlist is checked before `error`. */
      readonly model: Model | undefined;
      readonly error: ClientError;
      /** The client's dialect, if the model is the error. */
      readonly dialect?: DialectName;
    };

/** The parts of a request outside of its body. */
interface OutsideBody {
  /** The model and other fields in the path. */
  readonly address?: Address | undefined;
  readonly sent?: Headers;
}

/** Parses, checks and resolves a request, once. The result does not depend on the key. `headers`: the headers of the dialect. */
export function resolveRequest(
  catalog: Catalog,
  dialect: Dialect,
  bytes: Buffer,
  headers: DialectHeaders = {},
  { address, sent = {} }: OutsideBody = {},
): Resolution {
  const parsed = dialect.isForm ? readForm(bytes, sent['content-type']?.toString()) : readJsonBody(bytes);
  if (!parsed.ok) return invalid(undefined, undefined, parsed.problem);
  const read = dialect.place?.(parsed.body, address) ?? parsed;
  // The model is resolved before errors of the body are reported, because the path may name it.
  const id = read.ok ? read.body.fields.model : address?.model;
  if (!read.ok && id === undefined) return invalid(undefined, undefined, read.problem);
  if (typeof id !== 'string') return invalid(undefined, undefined, 'model: expected a string, <provider>/<model>');
  const named = namedModel(catalog, dialect, id, headers);
  if (named === undefined)
    return {
      ok: false,
      modelName: printableName(id),
      model: undefined,
      error: modelNotFound(id),
      dialect: dialect.name,
    };
  const { model, alias, headers: hostHeaders, isLongContext } = named;
  if (!read.ok) return invalid(model.id, model, read.problem);
  const checked = dialect.check(read.body, model.id);
  if (!checked.ok) return invalid(model.id, model, checked.problem, checked.details);
  const { request } = checked;
  const user = endUserOf(sent, parsed.body);
  if (!user.ok) return invalid(model.id, model, user.problem);
  const targeting = targetFor(request, model, hostHeaders);
  if (!targeting.ok) return invalid(model.id, model, targeting.problem);
  const { target } = targeting;
  const modelName = model.id;
  return { ok: true, modelName, model, alias, request, headers: hostHeaders, user: user.name, isLongContext, target };
}

interface Meant extends NamedModel {
  readonly headers: DialectHeaders;
  readonly isLongContext: boolean;
}

/**
 * The requested model, if its dialect can reach it. A name with the long-context mark is a model of its own if the config has
 * one. Otherwise the mark is removed, and the header requests the long context if the config has its prices.
 */
function namedModel(
  catalog: Catalog,
  { name: dialect }: Dialect,
  name: string,
  headers: DialectHeaders,
): Meant | undefined {
  const named = catalog.named(name);
  const unmarked = named === undefined ? unmarkedName(name, dialect) : undefined;
  const meant = named ?? (unmarked === undefined ? undefined : catalog.named(unmarked));
  if (meant === undefined || !isReachable(dialect, meant.model.dialects)) return undefined;
  if (unmarked === undefined) return { model: meant.model, alias: meant.alias, headers, isLongContext: false };
  const isLongContext = hasLongContext(meant.model);
  const { 'anthropic-beta': betas } = headers;
  const asked = betas?.includes(LONG_CONTEXT_BETA)
    ? betas
    : [betas, LONG_CONTEXT_BETA].filter((each) => each !== undefined).join(',');
  return {
    model: meant.model,
    alias: printableName(name),
    headers: isLongContext ? { ...headers, 'anthropic-beta': asked } : headers,
    isLongContext,
  };
}

export type Permission =
  | { readonly ok: true; readonly permitted: Permitted }
  | { readonly ok: false; readonly error: ClientError };

/** Whether a key with this allowlist may send the request. A null allowlist allows every model. */
export function permit(resolution: Resolution, allowlist: readonly string[] | null, catalog: Catalog): Permission {
  const { model } = resolution;
  if (model !== undefined && allowlist !== null && !allowlist.includes(model.id)) {
    return { ok: false, error: modelNotAllowed(model.id) };
  }
  if (!resolution.ok) return { ok: false, error: withNearModels(resolution, allowlist, catalog) };
  const { request, headers, user, alias, isLongContext, target } = resolution;
  const fallbacks = catalog
    .fallbacks(target.model, allowlist)
    .filter(({ dialects }) => isReachable(request.dialect.name, dialects))
    .filter((each) => !isLongContext || hasLongContext(each))
    .map((each) => targetFor(request, each, headers))
    .flatMap((targeting) => (targeting.ok ? [targeting.target] : []));
  return { ok: true, permitted: { request, headers, user, alias, targets: [target, ...fallbacks] } };
}

/** Replaces "not found" by a better error: a model of another dialect, or similar names that the key may call. */
function withNearModels(
  { error, modelName, dialect }: Resolution & { readonly ok: false },
  allowlist: readonly string[] | null,
  catalog: Catalog,
): ClientError {
  if (dialect === undefined || modelName === undefined) return error;
  const callable = catalog.callable(allowlist);
  const named = catalog.named(modelName)?.model;
  if (named !== undefined && callable.includes(named)) return modelNotReached(named, dialect);
  const models = callable.filter(({ dialects }) => isReachable(dialect, dialects));
  return modelNotFound(modelName, catalog.near(modelName, models));
}

/**
 * The request, if it needs no look at the key before admission, which checks the key and its allowlist itself: a valid
 * request for a model without fallbacks and without references to stored content.
 */
export function permittedByAdmission(resolution: Resolution): Permitted | undefined {
  if (!resolution.ok || resolution.model.fallback.length > 0) return undefined;
  if (referencesTo(resolution.target).length > 0) return undefined;
  const { request, headers, user, alias, target } = resolution;
  return { request, headers, user, alias, targets: [target] };
}

function invalid(
  modelName: string | undefined,
  model: Model | undefined,
  message: string,
  details?: Fields,
): Resolution {
  return { ok: false, modelName, model, error: { code: 'invalid_request', message, ...(details && { details }) } };
}
