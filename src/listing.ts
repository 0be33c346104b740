/** Answers a request for the list of models, or for one of them. */
import type { Catalog, Model } from './catalog/catalog.ts';
import type { ClientError } from './core/errors.ts';
import { API_KEY_DISABLED, credentialOf, INVALID_API_KEY } from './http/authorization.ts';
import type { Exchange } from './http/exchange.ts';
import { modelNotFound, rateLimited } from './http/refusals.ts';
import type { Ledger } from './ledger/ledger.ts';

export interface ListingParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  /** What `created` shows for models, in seconds since 1970. */
  readonly modelsCreatedS: number;
}

/** A request that is refused, and for which of the causes of its code. */
export interface Refused {
  readonly error: ClientError;
  readonly reason: string;
}

/** Answers where the key may list; else returns why it may not. */
export async function listModels(
  parts: ListingParts,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const credential = credentialOf(exchange.request.headers.authorization);
  if (!credential.ok) return refused(credential.error);
  const admission = await parts.ledger.admitListing(credential.keyHash);
  exchange.figures = admission.figures;
  switch (admission.kind) {
    case 'unknown':
      return refused(INVALID_API_KEY);
    case 'disabled':
      exchange.keyId = admission.keyId;
      return refused(API_KEY_DISABLED);
    case 'limited': {
      exchange.keyId = admission.keyId;
      const message = `The limit of ${admission.limit} model listings per minute is reached.`;
      return refused(rateLimited(message, admission.retryAfterS), 'model_listings_per_minute');
    }
    case 'admitted':
      sendModels(parts, exchange, parts.catalog.callable(admission.allowlist), id);
      return undefined;
  }
}

function refused(error: ClientError, reason: string = error.code): Refused {
  return { error, reason };
}

function sendModels(parts: ListingParts, exchange: Exchange, models: readonly Model[], id: string | undefined): void {
  const created = parts.modelsCreatedS;
  const show = (model: Model) => ({ id: model.id, object: 'model', created, owned_by: model.provider });
  if (id === undefined) {
    return exchange.sendJson(200, JSON.stringify({ object: 'list', data: models.map(show) }));
  }
  const model = models.find((candidate) => candidate.id === id);
  if (model === undefined) exchange.sendError(modelNotFound(id));
  else exchange.sendJson(200, JSON.stringify(show(model)));
}
