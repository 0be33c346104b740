/** The list of models in the config. Pure. */
import type { Model as CatalogModel } from '../../catalog/catalog.ts';
import { NANOS_PER_USD, type Nanos } from '../../core/money.ts';
import type { Model } from '../model.ts';
import { type Listed, shownOf } from './list.ts';

export const MODELS: Listed<CatalogModel> = {
  rows: ({ stored }) => stored.models,
  idOf: ({ id }) => id,
  fields: {
    model: { read: ({ id }) => id, isText: true },
    upstream: { read: ({ upstream }) => upstream, isText: true },
    input: { read: ({ input }) => usdOf(input) },
    cached: { read: ({ cachedInput }) => usdOf(cachedInput) },
    output: { read: ({ output }) => usdOf(output) },
    requests: { read: ({ id }, { stored }) => stored.modelUsage.get(id)?.requests ?? 0 },
    provider: { read: ({ provider }) => provider, isText: true },
    state: { read: ({ active }) => (active ? 'active' : 'inactive'), isHidden: true, isText: true },
  },
};

function usdOf(nanos: Nanos): number {
  return Number(nanos) / Number(NANOS_PER_USD);
}

export function shownModels(model: Model): readonly CatalogModel[] {
  return shownOf('models', MODELS, model);
}
