/** Lists the models of a config, and its inactive providers. */
import { Catalog, type Model } from '../catalog/catalog.ts';
import { mediaPricesOf } from '../catalog/media.ts';
import { unitPricesOf } from '../catalog/units.ts';
import { type Config, isActive } from '../config/config.ts';
import type { ModelRow, SkippedRow } from '../control/protocol.ts';
import { formatUsd } from '../core/money.ts';
import { clientDialects } from '../proxy/list-models.ts';

/** Returns the models with their prices and availability. */
export function modelRows({ providers, aliases }: Config): ModelRow[] {
  const catalog = new Catalog(providers, aliases);
  return catalog.models.map((model) => ({
    id: model.id,
    provider: model.provider,
    upstream: model.upstream,
    input_usd: priceOf(model, 'input'),
    cached_input_usd: priceOf(model, 'cachedInput'),
    output_usd: priceOf(model, 'output'),
    media: Object.fromEntries(mediaPricesOf(model).map(([name, usd]) => [`${name}_usd`, formatUsd(usd)])),
    active: model.active,
    dialects: clientDialects(model),
    aliases: catalog.aliasesOf(model),
    units: Object.fromEntries(unitPricesOf(model).map(([name, usd]) => [`${name}_usd`, formatUsd(usd)])),
  }));
}

function priceOf(model: Model, kind: 'input' | 'cachedInput' | 'output'): string | null {
  return model.isWithoutTokenPrices ? null : formatUsd(model[kind]);
}

/** Returns inactive providers, and the inactive upstreams of active providers. */
export function skippedParts({ providers }: Config): SkippedRow[] {
  return providers
    .flatMap<{ name: string; missingVariable: string | undefined }>((each) =>
      isActive(each) && each.kind !== 'mock' ? each.upstreams : [each],
    )
    .flatMap(({ name, missingVariable }) =>
      missingVariable === undefined ? [] : [{ name, missing_variable: missingVariable }],
    );
}
