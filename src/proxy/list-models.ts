/** Answers requests for the model listing or for one of its models, in the format of the requesting client. */

import type { Catalog, Model } from '../catalog/catalog.ts';
import { mediaPricesOf } from '../catalog/media.ts';
import { unitPricesOf, unpricedFor } from '../catalog/units.ts';
import { DIALECT_NAMES, type DialectName } from '../core/dialects.ts';
import { formatUsd } from '../core/money.ts';
import type { Exchange } from '../http/exchange.ts';
import { isGoogleClient, queryOf } from '../http/routes.ts';
import { hostDialectFor } from '../translate/translate.ts';
import { CODEX_QUERY, codexModel } from './codex-models.ts';
import { admitListing, identifyLister, type Refused, refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';
import { modelNotFound } from './refusals.ts';

type ListingParts = Pick<PipelineParts, 'catalog' | 'ledger' | 'modelsCreatedS'>;

/** Sends the listing, or returns the refusal. */
export async function listModels(
  { catalog, ledger, modelsCreatedS }: ListingParts,
  exchange: Exchange,
): Promise<Refused | undefined> {
  const access = await admitListing(ledger, exchange);
  if (!access.ok) return access.refused;
  const format = formatFor(exchange);
  const rows = modelsFor(format, catalog, access.allowlist).flatMap((model) => rowsOf(model, catalog));
  const shown = rows.map((row) => format.model(row, modelsCreatedS));
  const forCodex = format === OPENAI_FORMAT && queryOf(exchange.request.url ?? '').has(CODEX_QUERY);
  const models = forCodex && {
    models: rows
      .filter(({ model }) => clientDialects(model).includes('responses'))
      .map(({ name, model }, index) => codexModel(name, model, index)),
  };
  exchange.sendJson(200, JSON.stringify({ ...format.list(shown, rows), ...models }));
  return undefined;
}

/**
 * Sends one model, or returns the refusal. Checks that the key sees the model before it uses up an entry of the key's window.
 */
export async function showModel(
  { catalog, ledger, modelsCreatedS }: ListingParts,
  exchange: Exchange,
  id: string,
): Promise<Refused | undefined> {
  const lister = await identifyLister(ledger, exchange);
  if (!lister.ok) return lister.refused;
  const format = formatFor(exchange);
  const models = modelsFor(format, catalog, lister.key.allowlist);
  // Also accepts unlisted names, because an alias pattern maps many names to one model.
  const named = catalog.named(id);
  if (named === undefined || !models.includes(named.model)) return refused(modelNotFound(id, catalog.near(id, models)));
  const access = await admitListing(ledger, exchange);
  if (!access.ok) return access.refused;
  exchange.sendJson(200, JSON.stringify(format.model({ name: id, model: named.model }, modelsCreatedS)));
  return undefined;
}

/** The models that a key sees in a format. */
function modelsFor(format: ListingFormat, catalog: Catalog, allowlist: readonly string[] | null): readonly Model[] {
  return catalog
    .callable(allowlist)
    .filter((model) => clientDialects(model).some((dialect) => format.dialects.includes(dialect)));
}

function formatFor({ path, request }: Exchange): ListingFormat {
  if (isGoogleClient(path, request.headers)) return GEMINI_FORMAT;
  // Only clients of the messages API send this header.
  return request.headers['anthropic-version'] === undefined ? OPENAI_FORMAT : MESSAGES_FORMAT;
}

/** A name that clients can use, and its model. */
interface Row {
  readonly name: string;
  readonly model: Model;
}

function rowsOf(model: Model, catalog: Catalog): Row[] {
  return [model.id, ...catalog.aliasesOf(model)].map((name) => ({ name, model }));
}

interface ListingFormat {
  /** The dialects of the clients that read the format. */
  readonly dialects: readonly DialectName[];
  model(row: Row, createdS: number): object;
  list(models: readonly object[], rows: readonly Row[]): object;
}

const OPENAI_FORMAT: ListingFormat = {
  dialects: DIALECT_NAMES.filter((name) => name !== 'messages'),
  model: ({ name, model }, created) => ({
    id: name,
    object: 'model',
    created,
    owned_by: model.provider,
    ...aliasOf(name, model),
    ...detailsOf(model),
  }),
  list: (data) => ({ object: 'list', data }),
};

const MESSAGES_FORMAT: ListingFormat = {
  dialects: ['messages'],
  model: ({ name, model }, createdS) => ({
    type: 'model',
    id: name,
    display_name: name,
    created_at: new Date(createdS * 1000).toISOString(),
    lifecycle: 'active',
    // The format requires these fields; unknown values are null.
    max_input_tokens: model.contextWindow ?? null,
    max_tokens: model.maxOutput ?? null,
    ...Object.fromEntries(['capabilities', 'deprecated_at', 'line', 'retires_at'].map((field) => [field, null])),
    ...aliasOf(name, model),
    ...detailsOf(model),
  }),
  list: (data, rows) => ({
    data,
    has_more: false,
    first_id: rows[0]?.name ?? null,
    last_id: rows.at(-1)?.name ?? null,
  }),
};

/** Only the output price distinguishes text models from embeddings models: a model with an output price writes text. */
function googleMethodsOf(model: Model): string[] {
  const dialects = clientDialects(model);
  return [
    ...(dialects.includes('gemini') ? ['generateContent', 'countTokens'] : []),
    ...(dialects.includes('gemini_embeddings') && model.output === 0n ? ['embedContent', 'batchEmbedContents'] : []),
  ];
}

const GEMINI_FORMAT: ListingFormat = {
  dialects: ['gemini', 'gemini_embeddings'],
  model: ({ name, model }) => ({
    name: `models/${name}`,
    displayName: name,
    ...(model.contextWindow !== undefined && { inputTokenLimit: model.contextWindow }),
    ...(model.maxOutput !== undefined && { outputTokenLimit: model.maxOutput }),
    supportedGenerationMethods: googleMethodsOf(model),
    ...aliasOf(name, model),
    ...detailsOf(model),
  }),
  list: (models) => ({ models }),
};

function aliasOf(name: string, { id }: Model): object {
  return name === id ? {} : { alias_of: id };
}

/** The client dialects of a model: those with a translation and a price. */
export function clientDialects(model: Model): DialectName[] {
  return DIALECT_NAMES.filter((dialect) => {
    const spoken = hostDialectFor(dialect, model.dialects);
    return spoken !== undefined && unpricedFor(model, spoken) === undefined;
  });
}

/** Details are cached: a price file has hundreds of models, and clients list them often. */
const DETAILS = new WeakMap<Model, object>();

/** Fields in addition to the client's format. Prices are in USD per million tokens, or per unit. */
function detailsOf(model: Model): object {
  const known = DETAILS.get(model);
  if (known !== undefined) return known;
  const details = detailsFor(model);
  DETAILS.set(model, details);
  return details;
}

function detailsFor(model: Model): object {
  const { contextWindow, maxOutput, reads, input, cachedInput, cacheWrite, output } = model;
  const ofTokens = {
    input_usd: formatUsd(input),
    cached_input_usd: formatUsd(cachedInput),
    cache_write_usd: formatUsd(cacheWrite),
    output_usd: formatUsd(output),
    ...Object.fromEntries(mediaPricesOf(model).map(([name, usd]) => [`${name}_usd`, formatUsd(usd)])),
  };
  return {
    ...(contextWindow !== undefined && { context_window: contextWindow }),
    ...(maxOutput !== undefined && { max_output: maxOutput }),
    ...(reads !== undefined && { input_modalities: ['text', ...reads] }),
    dialects: clientDialects(model),
    prices: {
      ...(model.isWithoutTokenPrices !== true && ofTokens),
      ...Object.fromEntries(unitPricesOf(model).map(([name, usd]) => [`${name}_usd`, formatUsd(usd)])),
    },
  };
}
