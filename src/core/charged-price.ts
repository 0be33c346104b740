/** The price of a request, read from the text in its row of the journal. Pure. */
import { type Nanos, parseUsd } from './money.ts';

/** A price as it was charged: of a million tokens, and of tools of a call. */
export interface ChargedPrice {
  readonly input: Nanos;
  readonly cachedInput: Nanos;
  readonly output: Nanos;
  /** What else had a price: `cache_write`, `tools.web_search`, and the like. */
  readonly extras: readonly (readonly [name: string, price: Nanos])[];
  readonly tier: string | undefined;
  /** The length from which these prices apply, in tokens. */
  readonly above: number | undefined;
  /** How many units there were of what is billed by the piece; undefined for what is billed by tokens alone. */
  readonly units: number | undefined;
  /** The day of the price file; undefined for a price of the config. */
  readonly of: string | undefined;
  /** The name that the request gave the model, if that is not its id. */
  readonly alias: string | undefined;
  /** Nothing was charged: its answer came from the cache. */
  readonly isFromCache: boolean;
}

/** Reads a text that `catalog/price-text.ts` has written. Undefined if it is none. */
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

/** What is no price. */
const FACTS: ReadonlySet<string> = new Set(['tier', 'above', 'units', 'of', 'as', 'cache']);
