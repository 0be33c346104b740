/** What a body asks for: a sound request, and a model that exists and may be called; or why not. */

import type { Catalog, Model } from '../catalog/catalog.ts';
import type { ClientError } from '../core/errors.ts';
import { printableName } from '../core/printable.ts';
import { readJsonBody } from '../wire/body.ts';
import { type ChatRequest, checkRequest, modelOf } from '../wire/request.ts';
import { modelNotAllowed, modelNotFound } from './refusals.ts';

export type Resolution =
  | { readonly ok: true; readonly named: string; readonly request: ChatRequest; readonly model: Model }
  /** `named`: the model that the body names, as a log can show it, if it names one. */
  | { readonly ok: false; readonly named: string | undefined; readonly error: ClientError };

/** Reads a body. What is wrong with its model goes before all other faults. An allowlist of null allows every model. */
export function resolveRequest(catalog: Catalog, bytes: Buffer, allowlist: readonly string[] | null): Resolution {
  const read = readJsonBody(bytes);
  if (!read.ok) return invalid(undefined, read.problem);
  const id = modelOf(read.body);
  if (id === undefined) return invalid(undefined, 'model: expected a string, <provider>/<model>');
  const model = catalog.find(id);
  const named = model === undefined ? printableName(id) : id;
  if (model === undefined) return { ok: false, named, error: modelNotFound(id) };
  if (allowlist !== null && !allowlist.includes(id)) return { ok: false, named, error: modelNotAllowed(id) };
  const checked = checkRequest(read.body, id);
  return checked.ok ? { ok: true, named, request: checked.request, model } : invalid(named, checked.problem);
}

function invalid(named: string | undefined, message: string): Resolution {
  return { ok: false, named, error: { code: 'invalid_request', message } };
}
