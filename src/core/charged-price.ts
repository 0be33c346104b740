/** Parses the price text in the journal row of a request. Pure. */
import { type Nanos, parseUsd } from './money.ts';

/** The charged prices: per million tokens, and per tool call. */
export interface ChargedPrice {
  readonly input: Nanos;
  readonly cachedInput: Nanos;
  readonly output: Nanos;
  /** Further prices: `cache_write`, `tools.web_search`, and so on. */
  readonly extras: readonly (readonly [name: string, price: Nanos])[];
  readonly tier: string | undefined;
  /** The input length above which these prices apply, in tokens. */
  readonly above: number | undefined;
  /** The number of billed units; undefined for a request billed by tokens alone. */
  readonly units: number | undefined;
  /** The day of the price file; undefined for a configured price. */
  readonly of: string | undefined;
  /** The alias that the request used; undefined if it used the model id. */
  readonly alias: string | undefined;
  /** The response came from the cache and was free of charge. */
  readonly isFromCache: boolean;
}

/** Parses a text written by `catalog/price-text.ts`. Undefined if it is malformed. */
export function readPriceText(text: string): ChargedPrice | undefined {
  const [base = '', ...others] = text.split(' ');
  const [input, cachedInput, output] = base.split('/').map(parseUsd);
  if (input === undefined || cachedInput === undefined || output === undefined) return undefined;
  const named = new Map(others.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]));
  const above = named.get('above');
  const units = named.get('units');
  return {
    input,
    cachedInput,
    output,
    extras: [...named].flatMap(([name, value]) => {
      const price = FACTS.has(name) ? undefined : parseUsd(value);
      return price === undefined ? [] : [[name, price] as const];
    }),
    tier: named.get('tier'),
    above: above === undefined ? undefined : Number(above),
    units: units === undefined ? undefined : Number(units),
    of: named.get('of'),
    alias: named.get('as'),
    isFromCache: named.has('cache'),
  };
}

/** Names in the price text whose values are not prices. */
const FACTS: ReadonlySet<string> = new Set(['tier', 'above', 'units', 'of', 'as', 'cache']);
