/** The models to offer to a client: as listed by a gateway for its key, or from a config. */
import { Catalog } from '../../catalog/catalog.ts';
import { unmarkedName } from '../../catalog/long-context.ts';
import type { Config } from '../../config/config.ts';
import type { ModelRow } from '../../control/protocol.ts';
import type { DialectName } from '../../core/dialects.ts';
import { isObject } from '../../core/json.ts';
import { parseUsd } from '../../core/money.ts';
import type { Offer } from './choice.ts';

/** The time for a gateway on this machine to list its models, in milliseconds. */
const LISTING_MS = 5_000;

/** A gateway and one of its keys. */
export interface Access {
  readonly url: string;
  readonly key: string;
  readonly config: Config;
}

/** Lists the models of a key through the gateway. Throws if the gateway does not answer. */
export async function listedOffers(access: Access): Promise<readonly Offer[]> {
  const { data } = (await ask(access, '')) as { readonly data?: unknown };
  const hosts = hostsOf(access.config);
  return Array.isArray(data) ? data.flatMap((row) => offerOf(row, hosts)) : [];
}

/** Resolves a name that the gateway need not list, such as an alias. Undefined if the key cannot call it. */
export async function offerNamed(access: Access, name: string, dialect: DialectName): Promise<Offer | undefined> {
  const hosts = hostsOf(access.config);
  for (const each of namesFor(name, dialect)) {
    const [offer] = offerOf(await ask(access, `/${encodeURIComponent(each)}`), hosts);
    if (offer !== undefined) return { ...offer, id: name, isAlias: true };
  }
  return undefined;
}

/** A name, and the same without the mark of a long context. */
function namesFor(name: string, dialect: DialectName): string[] {
  return [name, unmarkedName(name, dialect)].filter((each) => each !== undefined);
}

async function ask({ url, key }: Access, path: string): Promise<unknown> {
  const answer = await fetch(`${url}/v1/models${path}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(LISTING_MS),
  });
  return answer.json();
}

/** The fields of `GET /v1/models`. */
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

/** The models of a config that a key with this allowlist may call. */
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
        output: parseUsd(output ?? '') ?? 0n,
        contextWindow: models.get(id)?.contextWindow,
        maxOutput: models.get(id)?.maxOutput,
        isAlias: name !== id,
      })),
    );
}

/** Resolves a name that the listing need not contain, among `offers`. */
export function configuredOfferNamed(
  offers: readonly Offer[],
  { providers, aliases }: Config,
  name: string,
  dialect: DialectName,
): Offer | undefined {
  const catalog = new Catalog(providers, aliases);
  const [id] = namesFor(name, dialect).flatMap((each) => catalog.named(each)?.model.id ?? []);
  const offer = offers.find((each) => each.id === id);
  return offer && { ...offer, id: name, isAlias: true };
}

/** The dialects of each model's host. */
type Hosts = ReadonlyMap<string, readonly string[]>;

function hostsOf({ providers }: Config): Hosts {
  return new Map(new Catalog(providers).models.map(({ id, dialects }) => [id, dialects]));
}
