/** The prices of units, from the config or the price file. */
import type { ToolPrice } from '../core/model-terms.ts';
import type { Nanos } from '../core/money.ts';
import { type Unit, unitName } from '../core/units.ts';
import type { ParsedPrices } from './price-schema.ts';

export function unitPrices(per: NonNullable<ParsedPrices['per']> = {}): ReadonlyMap<string, ToolPrice> {
  const { image, character, character_han_twice: ofHanTwice, byte, search, least_seconds: least } = per;
  const second = secondPriceRoundedUp(per);
  const prices: readonly (readonly [Unit, ToolPrice | undefined])[] = [
    ['image', image === undefined ? undefined : imagePrice(image)],
    ['character', character === undefined ? undefined : flat(character)],
    ['character_han_twice', ofHanTwice === undefined ? undefined : flat(ofHanTwice)],
    ['byte', byte === undefined ? undefined : flat(byte)],
    ['second', second === undefined ? undefined : { ...flat(second), ...(least !== undefined && { least }) }],
    ['search', search === undefined ? undefined : flat(search)],
  ];
  return new Map(prices.flatMap(([unit, price]) => (price === undefined ? [] : [[unitName(unit), price]])));
}

/** Prices per second are rounded up to the nanodollar: at most four millionths of a dollar per hour. */
function secondPriceRoundedUp({ second, minute, hour }: NonNullable<ParsedPrices['per']>): Nanos | undefined {
  if (second !== undefined) return second;
  if (minute !== undefined) return (minute + 59n) / 60n;
  return hour === undefined ? undefined : (hour + 3_599n) / 3_600n;
}

function imagePrice(image: NonNullable<NonNullable<ParsedPrices['per']>['image']>): ToolPrice {
  if (typeof image === 'bigint') return flat(image);
  return {
    call: image.price,
    tokens: 0,
    variants: image.variants.map(({ price, ...fields }) => ({
      call: price,
      tokens: 0,
      fields: new Map(Object.entries(fields as Record<string, string>)),
    })),
  };
}

function flat(price: Nanos): ToolPrice {
  return { call: price, tokens: 0, variants: [], isFlat: true };
}

/** Units of the mock provider are free unless they have a price. */
export const UNUSED_UNITS = unitPrices({ image: 0n, character: 0n, second: 0n, search: 0n });
