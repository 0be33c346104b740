/** What a client can be offered: the models that a gateway lists for its key, or those of a config. */
import { Catalog } from '../../catalog/catalog.ts';
import type { Config } from '../../config/config.ts';
import type { ModelRow } from '../../control/protocol.ts';
import { isObject } from '../../core/json.ts';
import { parseUsd } from '../../core/money.ts';
import type { Offer } from './choice.ts';

/** A gateway on this machine lists its models at once. In milliseconds. */
const LISTING_MS = 5_000;

/** The models that a gateway lists for a key. Throws if it cannot be asked. */
export async function listedOffers(url: string, key: string, config: Config): Promise<readonly Offer[]> {
  const answer = await fetch(`${url}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(LISTING_MS),
  });
  const { data } = (await answer.json()) as { readonly data?: unknown };
  const hosts = hostsOf(config);
  return Array.isArray(data) ? data.flatMap((row) => offerOf(row, hosts)) : [];
}

/** `GET /v1/models` says it in these fields. */
function offerOf(row: unknown, hosts: Hosts): Offer[] {
  if (!isObject(row) || typeof row.id !== 'string' || !Array.isArray(row.dialects) || !isObject(row.prices)) return [];
  const { id, alias_of: aliasOf, owned_by: provider, dialects, prices } = row;
  const number = (value: unknown) => (typeof value === 'number' ? value : undefined);
  return [
    {
      id,
      provider: String(provider),
      dialects,
      native: hosts.get(typeof aliasOf === 'string' ? aliasOf : id) ?? [],
      output: parseUsd(String(prices.output_usd)) ?? 0n,
      contextWindow: number(row.context_window),
      maxOutput: number(row.max_output),
      isAlias: aliasOf !== undefined,
    },
  ];
}

/** The models of `rows`, which are those of the config, as far as a key with this allowlist may call them. */
export function configuredOffers(
  rows: readonly ModelRow[],
  config: Config,
  allowlist: readonly string[] | null,
): Offer[] {
  const models = new Map(new Catalog(config.providers).models.map((model) => [model.id, model]));
  const hosts = hostsOf(config);
  return rows
    .filter(({ id, active }) => active && (allowlist === null || allowlist.includes(id)))
    .flatMap(({ id, provider, dialects = [], output_usd: output, aliases = [] }) =>
      [id, ...aliases].map((name) => ({
        id: name,
        provider,
        dialects,
        native: hosts.get(id) ?? [],
        output: parseUsd(output) ?? 0n,
        contextWindow: models.get(id)?.contextWindow,
        maxOutput: models.get(id)?.maxOutput,
        isAlias: name !== id,
      })),
    );
}

/** What the host of each model speaks. */
type Hosts = ReadonlyMap<string, readonly string[]>;

function hostsOf({ providers }: Config): Hosts {
  return new Map(new Catalog(providers).models.map(({ id, dialects }) => [id, dialects]));
}
