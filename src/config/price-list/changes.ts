/** Compares new prices with those in the price file and the config. Pure. */
import { formatUsd, type Nanos } from '../../core/money.ts';
import type { ModelConfig, ProviderConfig } from '../config.ts';
import { entriesOf, entryIn, type PriceEntry, type PriceTable } from '../price-file.ts';
import type { ParsedPrices, ParsedTool } from '../price-schema.ts';

/**
 * `config`: the config has another price for the model, which takes precedence. `gone`: the model has a price in the present
 * file and not in the new one.
 */
export type ChangeKind = 'added' | 'changed' | 'gone' | 'config';

/** A field of a model before and after; undefined if it is missing. */
export interface FieldChange {
  readonly field: string;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

export interface ModelChange {
  /** `<provider>/<model>`. */
  readonly model: string;
  readonly kind: ChangeKind;
  readonly fields: readonly FieldChange[];
}

export interface Changes {
  /** In the order of the providers, then by name. */
  readonly changes: readonly ModelChange[];
  readonly unchanged: number;
}

export function changesOf(before: PriceTable, after: PriceTable, providers: readonly ProviderConfig[]): Changes {
  const own = new Map<string, ModelConfig>(
    providers.flatMap(({ name, models }) =>
      models.flatMap((model) => (model.pricesOf === undefined ? [[`${name}/${model.name}`, model] as const] : [])),
    ),
  );
  const changes: ModelChange[] = [];
  let unchanged = 0;
  for (const provider of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const names = new Set([before, after].flatMap((table) => Object.keys(entriesOf(table, provider))));
    for (const name of [...names].toSorted()) {
      const model = `${provider}/${name}`;
      const old = entryIn(before, provider, name);
      const now = entryIn(after, provider, name);
      const change = own.has(model) ? ownChange(own.get(model) as ModelConfig, now) : changeOf(old, now);
      if (change.fields.length > 0) changes.push({ model, ...change });
      else unchanged++;
    }
  }
  return { changes, unchanged };
}

function changeOf(old: PriceEntry | undefined, now: PriceEntry | undefined): Omit<ModelChange, 'model'> {
  const kind = old === undefined ? 'added' : now === undefined ? 'gone' : 'changed';
  return { kind, fields: differences(fieldsOf(old), fieldsOf(now)) };
}

/** Compares the prices that are used before and after. */
function ownChange(own: ModelConfig, now: PriceEntry | undefined): Omit<ModelChange, 'model'> {
  if (now === undefined) return { kind: 'config', fields: [] };
  const listed = {
    input: now.input,
    cached_input: now.cached_input ?? now.input,
    output: now.output,
    cache_write: now.cache_write ?? now.input,
    cache_write_1h: now.cache_write_1h ?? now.cache_write ?? now.input,
  };
  const configured = {
    input: own.input,
    cached_input: own.cachedInput,
    output: own.output,
    cache_write: own.cacheWrite,
    cache_write_1h: own.cacheWrite1h,
  };
  return { kind: 'config', fields: differences(usdOf(configured), usdOf(listed)) };
}

type Texts = Readonly<Record<string, string>>;

function differences(from: Texts, to: Texts): FieldChange[] {
  const fields = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return fields
    .filter((field) => from[field] !== to[field])
    .map((field) => ({ field, from: from[field], to: to[field] }));
}

/** Every field of an entry. Nested fields have names such as `above.input` or `service_tiers.flex.input`. */
function fieldsOf(entry: PriceEntry | undefined): Texts {
  if (entry === undefined) return {};
  const { service_tiers: tiers, context_window: window, max_output: most, reads, ...prices } = entry;
  const ofTiers = Object.entries(tiers).map(([tier, each]) => ofPrices(each, `service_tiers.${tier}.`));
  return Object.assign(
    ofPrices(prices, ''),
    ...ofTiers,
    window === undefined ? {} : { context_window: String(window) },
    most === undefined ? {} : { max_output: String(most) },
    reads === undefined ? {} : { reads: ['text', ...reads].join(', ') },
  );
}

function ofPrices({ above, tools, per, ...prices }: ParsedPrices, prefix: string): Record<string, string> {
  return {
    ...usdOf(prices, prefix),
    ...ofUnits(per, `${prefix}per.`),
    ...(above !== undefined && {
      [`${prefix}above.tokens`]: String(above.tokens),
      ...usdOf({ input: above.input, cached_input: above.cached_input, output: above.output }, `${prefix}above.`),
    }),
    ...Object.assign({}, ...Object.entries(tools).map(([name, tool]) => ofTool(tool, `${prefix}tools.${name}`))),
  };
}

function ofUnits(
  { image, least_seconds: least, ...others }: NonNullable<ParsedPrices['per']> = {},
  prefix: string,
): Record<string, string> {
  const { price, variants } = typeof image === 'bigint' ? { price: image, variants: [] } : (image ?? { variants: [] });
  const ofVariants = variants.map(({ price, ...fields }) => {
    const values = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
    return { [`${prefix}image(${values.join(',')})`]: formatUsd(price) };
  });
  const ofLeast = least === undefined ? {} : { [`${prefix}least_seconds`]: String(least) };
  return Object.assign(usdOf({ image: price, ...others }, prefix), ...ofVariants, ofLeast);
}

/** `tools.web_search`, or for a variant `tools.web_search(search_context_size:high)`. */
function ofTool({ call, tokens, variants }: ParsedTool, field: string): Record<string, string> {
  const ofVariants = variants.map(({ call: price, tokens: brought, ...fields }) => {
    const values = Object.entries(fields).map(([name, value]) => `${name}:${value}`);
    return ofCall(price, brought, `${field}(${values.join(',')})`);
  });
  return Object.assign(ofCall(call, tokens, field), ...ofVariants);
}

function ofCall(call: Nanos, tokens: number | undefined, field: string): Record<string, string> {
  return { [field]: formatUsd(call), ...(tokens !== undefined && { [`${field}.tokens`]: String(tokens) }) };
}

function usdOf(prices: Readonly<Record<string, Nanos | undefined>>, prefix = ''): Record<string, string> {
  return Object.fromEntries(
    Object.entries(prices).flatMap(([field, nanos]) =>
      nanos === undefined ? [] : [[prefix + field, formatUsd(nanos)] as const],
    ),
  );
}
