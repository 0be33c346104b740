/** Answers requests for the model listing, or for one model of it, in the format of the client that asks. */

import type { Catalog, Model } from '../catalog/catalog.ts';
import { unitPricesOf, unpricedFor } from '../catalog/units.ts';
import { DIALECT_NAMES, type DialectName } from '../core/dialects.ts';
import { formatUsd } from '../core/money.ts';
import type { Exchange } from '../http/exchange.ts';
import { isGoogleClient } from '../http/routes.ts';
import { isReachable } from '../translate/translate.ts';
import { admitListing, type Refused, refused } from './listing.ts';
import type { PipelineParts } from './parts.ts';
import { modelNotFound } from './refusals.ts';

/** Sends the listing, or returns why it is refused. */
export async function listModels(
  parts: Pick<PipelineParts, 'catalog' | 'ledger' | 'modelsCreatedS'>,
  exchange: Exchange,
  id: string | undefined,
): Promise<Refused | undefined> {
  const access = await admitListing(parts.ledger, exchange);
  if (!access.ok) return access.refused;
  const format = formatFor(exchange);
  const models = parts.catalog
    .callable(access.allowlist)
    .filter((model) => clientDialects(model).some((dialect) => format.dialects.includes(dialect)));
  const rows = models.flatMap((model) => rowsOf(model, parts.catalog));
  const named = id === undefined ? undefined : parts.catalog.named(id);
  // Also by a name that is not listed, since a pattern leads many to its model.
  const row = id !== undefined && named && models.includes(named.model) ? { name: id, model: named.model } : undefined;
  if (id !== undefined && row === undefined) return refused(modelNotFound(id, parts.catalog.near(id, models)));
  const show = (each: Row) => format.model(each, parts.modelsCreatedS);
  exchange.sendJson(200, JSON.stringify(row === undefined ? format.list(rows.map(show), rows) : show(row)));
  return undefined;
}

function formatFor({ path, request }: Exchange): ListingFormat {
  if (isGoogleClient(path, request.headers)) return GEMINI_FORMAT;
  // Clients of the messages API, and nobody else, send this header.
  return request.headers['anthropic-version'] === undefined ? OPENAI_FORMAT : MESSAGES_FORMAT;
}

/** A name that a client can use, and what it stands for. */
interface Row {
  readonly name: string;
  readonly model: Model;
}

function rowsOf(model: Model, catalog: Catalog): Row[] {
  return [model.id, ...catalog.aliasesOf(model)].map((name) => ({ name, model }));
}

interface ListingFormat {
  /** Those of the clients that read it. */
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
    // As the format has them; what nobody here knows is null.
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

/** A model whose output has a price writes text: nothing else says which models are for embeddings. */
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
  }),
  list: (models) => ({ models }),
};

function aliasOf(name: string, { id }: Model): object {
  return name === id ? {} : { alias_of: id };
}

/** What clients of a model can speak: what leads to it, and has a price there. */
export function clientDialects(model: Model): DialectName[] {
  return DIALECT_NAMES.filter(
    (dialect) => isReachable(dialect, model.dialects) && unpricedFor(model, dialect) === undefined,
  );
}

/** A price file has hundreds of models, and clients list them again and again. */
const DETAILS = new WeakMap<Model, object>();

/** What clients ask for beside the fields of their format. Prices are in USD per million tokens, and of units for each. */
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
