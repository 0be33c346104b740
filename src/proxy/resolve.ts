/** What a request body asks for, and whether a key may have it. */
import type { Catalog, Model } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import type { Dialect, Fields, ModelRequest } from '../dialects/dialect.ts';
import { isReachable } from '../translate/translate.ts';
import { readJsonBody } from '../wire/body.ts';
import { type Target, targetFor } from './plan.ts';
import { modelNotAllowed, modelNotFound } from './refusals.ts';

/** A body that was read. `modelName` is the model it names, as a log can show it, if it names one. */
export type Resolution =
  | {
      readonly ok: true;
      readonly modelName: string;
      readonly model: Model;
      readonly request: ModelRequest;
      readonly headers: DialectHeaders;
      readonly target: Target;
    }
  | {
      readonly ok: false;
      readonly modelName: string | undefined;
      /** Set where the body names a model that exists: then the allowlist decides before `error`. */
      readonly model: Model | undefined;
      readonly error: ClientError;
    };

/** The headers of a client that reach a host of its dialect, by their names in lower case. */
export type DialectHeaders = Readonly<Record<string, string>>;

/** Parses, checks and resolves a request, once. Which key sent it does not matter here. */
export function resolveRequest(
  catalog: Catalog,
  dialect: Dialect,
  bytes: Buffer,
  headers: DialectHeaders = {},
): Resolution {
  const read = readJsonBody(bytes);
  if (!read.ok) return invalid(undefined, undefined, read.problem);
  const { model: id } = read.body.fields;
  if (typeof id !== 'string') return invalid(undefined, undefined, 'model: expected a string, <provider>/<model>');
  const model = catalog.find(id);
  if (model === undefined || !isReachable(dialect.name, model.dialects))
    return { ok: false, modelName: printableName(id), model: undefined, error: modelNotFound(id) };
  const checked = dialect.check(read.body, id);
  if (!checked.ok) return invalid(id, model, checked.problem, checked.details);
  const { request } = checked;
  const targeting = targetFor(request, model, headers);
  if (!targeting.ok) return invalid(id, model, targeting.problem);
  return { ok: true, modelName: id, model, request, headers, target: targeting.target };
}

/** A request that its key may send: to the model it names, or to the fallbacks that the key may use and that can take it. */
export interface Permitted {
  readonly request: ModelRequest;
  readonly targets: readonly [Target, ...Target[]];
}

export type Permission =
  | { readonly ok: true; readonly permitted: Permitted }
  | { readonly ok: false; readonly error: ClientError };

/** Whether a key with this allowlist may send what was resolved. An allowlist of null allows every model. */
export function permit(resolution: Resolution, allowlist: readonly string[] | null, catalog: Catalog): Permission {
  const { model } = resolution;
  if (model !== undefined && allowlist !== null && !allowlist.includes(model.id)) {
    return { ok: false, error: modelNotAllowed(model.id) };
  }
  if (!resolution.ok) return { ok: false, error: resolution.error };
  const { request, headers, target } = resolution;
  const fallbacks = catalog
    .fallbacks(target.model, allowlist)
    .filter(({ dialects }) => isReachable(request.dialect.name, dialects))
    .map((each) => targetFor(request, each, headers))
    .flatMap((targeting) => (targeting.ok ? [targeting.target] : []));
  return { ok: true, permitted: { request, targets: [target, ...fallbacks] } };
}

/**
 * What needs no look at the key before admission, which checks the key and its allowlist itself: a valid request for a
 * model without fallbacks.
 */
export function permittedByAdmission(resolution: Resolution): Permitted | undefined {
  if (!resolution.ok || resolution.model.fallback.length > 0) return undefined;
  return { request: resolution.request, targets: [resolution.target] };
}

function invalid(
  modelName: string | undefined,
  model: Model | undefined,
  message: string,
  details?: Fields,
): Resolution {
  return { ok: false, modelName, model, error: { code: 'invalid_request', message, ...(details && { details }) } };
}
