/** Answers requests for the model listing, or for one model of it. */

import type { Catalog, Model } from '../catalog/catalog.ts';
import { type ClientError, rateLimited } from '../core/errors.ts';
import { API_KEY_DISABLED, credentialOf, INVALID_API_KEY } from '../http/authorization.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { modelNotFound } from './refusals.ts';

export interface ListingParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  /** What the listing shows as `created`, in seconds since 1970. */
  readonly modelsCreatedS: number;
}

/** A refused listing. `reason` is the cause within its error code. */
export interface Refused {
  readonly error: ClientError;
  readonly reason: string;
}

/** Sends the listing, or returns why it is refused. */
export async function listModels(
  parts: ListingParts,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const credential = credentialOf(exchange.request.headers.authorization);
  if (!credential.ok) return refused(credential.error);
  const admission = await parts.ledger.admitListing(credential.keyHash);
  exchange.showLimits(admission.figures);
  if (admission.kind === 'unknown') return refused(INVALID_API_KEY);
  exchange.identifyKey(admission.keyId);
  switch (admission.kind) {
    case 'disabled':
      return refused(API_KEY_DISABLED);
    case 'limited': {
      const message = `The limit of ${admission.limit} model listings per minute is reached.`;
      return refused(rateLimited(message, admission.retryAfterS), 'model_listings_per_minute');
    }
    case 'admitted':
      return sendModels(parts, exchange, parts.catalog.callable(admission.allowlist), id);
  }
}

function refused(error: ClientError, reason: string = error.code): Refused {
  return { error, reason };
}

function sendModels(
  parts: ListingParts,
  exchange: Exchange,
  models: readonly Model[],
  id: string | undefined,
): Refused | undefined {
  const created = parts.modelsCreatedS;
  const show = (model: Model) => ({ id: model.id, object: 'model', created, owned_by: model.provider });
  const model = models.find((candidate) => candidate.id === id);
  if (id !== undefined && model === undefined) return refused(modelNotFound(id));
  const shown = model === undefined ? { object: 'list', data: models.map(show) } : show(model);
  exchange.sendJson(200, JSON.stringify(shown));
  return undefined;
}
