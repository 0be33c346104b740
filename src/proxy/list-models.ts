/** Answers requests for the model listing, or for one model of it. */

import type { Catalog, Model } from '../catalog/catalog.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { admitListing, type Refused, refused } from './listing.ts';
import { modelNotFound } from './refusals.ts';

export interface ListingParts {
  readonly catalog: Catalog;
  readonly ledger: Ledger;
  /** What the listing shows as `created`, in seconds since 1970. */
  readonly modelsCreatedS: number;
}

/** Sends the listing, or returns why it is refused. */
export async function listModels(
  parts: ListingParts,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const access = await admitListing(parts.ledger, exchange);
  if (!access.ok) return access.refused;
  return sendModels(parts, exchange, parts.catalog.callable(access.allowlist), id);
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
