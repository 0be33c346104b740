/** The prices of units, from the config or the price file. */
import type { ToolPrice } from '../core/model-terms.ts';
import type { Nanos } from '../core/money.ts';
import { type Unit, unitName } from '../core/units.ts';
import type { ParsedPrices } from './price-schema.ts';

export function unitPrices(per: ParsedPrices['per'] = {}): ReadonlyMap<string, ToolPrice> {
  const { search } = per;
  const prices = new Map<string, ToolPrice>();
  const add = (unit: Unit, price: Nanos | undefined) => {
    if (price !== undefined) prices.set(unitName(unit), { call: price, tokens: 0, variants: [], isFlat: true });
  };
  add('search', search);
  return prices;
}
