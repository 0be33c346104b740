/** Checks whether a model has prices for a request: some dialects are billed by units, others by tokens. Pure. */
import type { DialectName } from '../core/dialects.ts';
import type { ToolSetting } from '../core/host-tools.ts';
import type { ModelTerms, Prices } from '../core/model-terms.ts';
import type { Nanos } from '../core/money.ts';
import { isUnit, type Unit, unitName } from '../core/units.ts';

/** The pricing of a dialect that may be billed by units. */
interface Pricing {
  readonly units: readonly Unit[];
  /** Whether the model has the token prices that these requests need. */
  hasTokenPrices(model: ModelTerms): boolean;
  /** The setting to add to the config. */
  readonly remedy: string;
}

const isPricedByTokens = (model: ModelTerms) => model.isWithoutTokenPrices !== true;

const IMAGES: Pricing = {
  units: ['image'],
  hasTokenPrices: ({ imageOutput, maxOutput }) => imageOutput !== undefined && maxOutput !== undefined,
  remedy: 'per: { image }, or image_output and max_output',
};
const TRANSCRIPTS: Pricing = {
  units: ['second'],
  hasTokenPrices: ({ audioInput }) => audioInput !== undefined,
  remedy: 'per: { minute }, or audio_input',
};

const PRICINGS: Partial<Record<DialectName, Pricing>> = {
  images: IMAGES,
  image_edits: IMAGES,
  transcriptions: TRANSCRIPTS,
  translations: TRANSCRIPTS,
  speech: {
    units: ['character', 'character_han_twice', 'byte'],
    hasTokenPrices: ({ audioOutput, maxOutput }) => audioOutput !== undefined && maxOutput !== undefined,
    remedy: 'per: { character }, or audio_output and max_output',
  },
  vertex_embeddings: {
    units: ['character'],
    hasTokenPrices: isPricedByTokens,
    remedy: 'its input and output, or per: { character }',
  },
  rerank: { units: ['search'], hasTokenPrices: isPricedByTokens, remedy: 'its input and output, or per: { search }' },
};

/** The reason why a model has no price for requests of a dialect, with the setting to add; undefined if it has one. */
export function unpricedFor(model: ModelTerms, dialect: DialectName): string | undefined {
  const { units = [], hasTokenPrices = isPricedByTokens, remedy = 'its input and output' } = PRICINGS[dialect] ?? {};
  const isPriced = units.some((unit) => model.tools.has(unitName(unit))) || hasTokenPrices(model);
  return isPriced ? undefined : `model: this model has no price for ${dialect}; have ${remedy} set`;
}

/** Names a field that may be the number of images and is in no variant of their price; undefined without one. */
export function otherNumberProblem({ tools }: Prices, numbers: readonly ToolSetting[]): string | undefined {
  const price = tools.get(unitName('image'));
  const isFree = price !== undefined && [price, ...price.variants].every(({ call }) => call === 0n);
  const isPriced = ({ field, value }: ToolSetting) => price?.variants.some(({ fields }) => fields.get(field) === value);
  const other = isFree ? undefined : numbers.find((number) => !isPriced(number));
  return (
    other &&
    `${other.where}: it may be a number of images; use n, which is held for, or have a price variant set for it`
  );
}

/** The prices of a model's units, by name; with variants, the price without variants. */
export function unitPricesOf({ tools }: Pick<ModelTerms, 'tools'>): readonly (readonly [name: string, price: Nanos])[] {
  return [...tools].flatMap(([name, { call }]) => (isUnit({ name }) && call > 0n ? [[name, call] as const] : []));
}
