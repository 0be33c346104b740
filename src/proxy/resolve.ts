/** What a request body asks for, and whether a key may have it. */
import type { Catalog, Model } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import { readJsonBody } from '../wire/body.ts';
import { type ChatRequest, checkRequest, modelOf } from '../wire/request.ts';
import { problemAt } from './plan.ts';
import { modelNotAllowed, modelNotFound } from './refusals.ts';

/** A body that was read. `modelName` is the model it names, as a log can show it, if it names one. */
export type Resolution =
  | { readonly ok: true; readonly modelName: string; readonly model: Model; readonly request: ChatRequest }
  | {
      readonly ok: false;
      readonly modelName: string | undefined;
      /** Set where the body names a model that exists: then the allowlist decides before `error`. */
      readonly model: Model | undefined;
      readonly error: ClientError;
    };

/** Parses, checks and resolves a body, once. Which key sent it does not matter here. */
export function resolveRequest(catalog: Catalog, bytes: Buffer): Resolution {
  const read = readJsonBody(bytes);
  if (!read.ok) return invalid(undefined, undefined, read.problem);
  const id = modelOf(read.body);
  if (id === undefined) return invalid(undefined, undefined, 'model: expected a string, <provider>/<model>');
  const model = catalog.find(id);
  if (model === undefined) return { ok: false, modelName: printableName(id), model, error: modelNotFound(id) };
  const checked = checkRequest(read.body, id);
  if (!checked.ok) return invalid(id, model, checked.problem);
  const { request } = checked;
  const problem = problemAt(request, model);
  return problem === undefined ? { ok: true, modelName: id, model, request } : invalid(id, model, problem);
}

/** A request that its key may send: the model it names, then the fallbacks that the key may use as well. */
export interface Permitted {
  readonly request: ChatRequest;
  readonly models: readonly [Model, ...Model[]];
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
  const models = [resolution.model, ...catalog.fallbacks(resolution.model, allowlist)] as const;
  return { ok: true, permitted: { request: resolution.request, models } };
}

/**
 * What needs no look at the key before admission, which checks the key and its allowlist itself: a valid request for a
 * model without fallbacks.
 */
export function permittedByAdmission(resolution: Resolution): Permitted | undefined {
  if (!resolution.ok || resolution.model.fallback.length > 0) return undefined;
  return { request: resolution.request, models: [resolution.model] };
}

function invalid(modelName: string | undefined, model: Model | undefined, message: string): Resolution {
  return { ok: false, modelName, model, error: { code: 'invalid_request', message } };
}
