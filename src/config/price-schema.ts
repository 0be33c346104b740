/** The shape of prices and names, in the config and in the price file, for zod. */
import * as z from 'zod';
import { MAX_CALLS } from '../core/host-tools.ts';
import { INPUT_KINDS } from '../core/model-terms.ts';
import { type Nanos, parseUsd } from '../core/money.ts';

// Compiling the checks takes 10 ms, which only pays for many runs.
z.config({ jitless: true });

/** More output tokens than any model can produce. */
const MAX_TOKENS = 1_000_000_000;

export function wholeNumber(minimum: number, maximum = MAX_TOKENS) {
  const expected = `expected a whole number from ${minimum} to ${maximum}`;
  return z
    .number({ error: () => expected })
    .int(expected)
    .min(minimum, expected)
    .max(maximum, expected);
}

export const text = z.string({ error: () => 'expected a string' }).min(1, 'expected a non-empty string');

export const PRICE_EXPECTED =
  'expected a price in USD per million tokens: a number of at least 0, with at most nine decimals';
/** USD per million tokens, as nanodollars per million tokens. */
export const price = usd(PRICE_EXPECTED);
const callPrice = usd('expected a price in USD a call: a number of at least 0, with at most nine decimals');

/** An amount in USD, as nanodollars. */
function usd(expected: string) {
  return z.number({ error: ({ input }) => expected + adviceOn(input) }).transform((amount, context): Nanos => {
    // Prices are not rounded: more than nine decimals are a mistake.
    const decimals = amount >= 0 && amount < 1e9 ? amount.toFixed(9) : '';
    const nanos = Number(decimals) === amount ? parseUsd(decimals) : undefined;
    if (nanos !== undefined) return nanos;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** The message for a number with a decimal comma, which YAML reads as a text. */
function adviceOn(input: unknown): string {
  return typeof input === 'string' && /^\d+,\d+$/.test(input) ? ', after a decimal point and not a comma' : '';
}

const perCall = { call: callPrice, tokens: wholeNumber(0).optional() };
/** A field and value in the form in which the journal records them: `memory_limit:4g`. */
const FIELD_VALUE = /^[!-~]{1,64}$/;
const VALUE_EXPECTED = 'expected the value of a field of the tool: a text without spaces, a number, true or false';
const fieldValue = z
  .union([z.string(), z.number(), z.boolean()], { error: () => VALUE_EXPECTED })
  .transform(String)
  .refine((value) => FIELD_VALUE.test(value), VALUE_EXPECTED);
const toolVariant = z
  .object(perCall, { error: () => 'expected fields and their price, such as { memory_limit: 4g, call: 0.12 }' })
  .catchall(fieldValue)
  .refine(
    (variant) => Object.keys(variant).some((name) => !(name in perCall)),
    'expected at least one field of the tool, such as { memory_limit: 4g, call: 0.12 }',
  )
  .refine((variant) => !('max_calls' in variant), 'expected max_calls beside variants: it is the same for all of them');
const TOOL_EXPECTED =
  'expected USD a call, or a map such as { call: 0.01, tokens: 8000, max_calls: 20, variants: [ … ] }';
/** A bare number is the price of a call. */
const toolPrice = z.preprocess(
  (value) => (typeof value === 'number' ? { call: value } : value),
  z.strictObject(
    {
      ...perCall,
      max_calls: wholeNumber(1, MAX_CALLS).optional(),
      variants: z.array(toolVariant, { error: () => 'expected a list of variants' }).default([]),
    },
    { error: () => TOOL_EXPECTED },
  ),
);

const UNIT_EXPECTED = 'expected a price in USD a piece: a number of at least 0, with at most nine decimals';
const unitPrice = usd(UNIT_EXPECTED);
const IMAGE_EXPECTED =
  'expected USD an image, or a map such as { price: 0.04, variants: [{ size: 1792x1024, price: 0.08 }] }';
const imageVariant = z
  .object(
    { price: unitPrice },
    { error: () => 'expected fields and their price, such as { size: 1792x1024, price: 0.08 }' },
  )
  .catchall(fieldValue)
  .refine(
    (variant) => Object.keys(variant).length > 1,
    'expected at least one field, such as { size: 1792x1024, price: 0.08 }',
  );
/** A bare number is the price of any image. */
const imagePrice = z.union(
  [
    unitPrice,
    z.strictObject({
      price: unitPrice,
      variants: z.array(imageVariant, { error: () => 'expected a list of variants' }),
    }),
  ],
  { error: () => IMAGE_EXPECTED },
);
/** Prices by units, instead of or in addition to tokens. */
const per = z
  .strictObject(
    {
      image: imagePrice.optional(),
      character: unitPrice.optional(),
      character_han_twice: unitPrice.optional(),
      byte: unitPrice.optional(),
      second: unitPrice.optional(),
      minute: unitPrice.optional(),
      hour: unitPrice.optional(),
      least_seconds: wholeNumber(1, 3_600).optional(),
      search: unitPrice.optional(),
    },
    { error: () => 'expected units and their prices, such as per: { search: 0.002 }' },
  )
  .refine(
    ({ second, minute, hour }) => [second, minute, hour].filter((each) => each !== undefined).length <= 1,
    'expected one of second, minute and hour',
  )
  .refine(
    ({ character, character_han_twice: ofHanTwice, byte }) =>
      [character, ofHanTwice, byte].filter((each) => each !== undefined).length <= 1,
    'expected one of character, character_han_twice and byte',
  )
  .refine(
    ({ second, minute, hour, least_seconds: least }) => least === undefined || (second ?? minute ?? hour) !== undefined,
    'expected second, minute or hour beside least_seconds',
  )
  .optional();

const basePrices = { input: price, cached_input: price.optional(), output: price };
export const prices = z.strictObject({
  ...basePrices,
  cache_write: price.optional(),
  cache_write_1h: price.optional(),
  tools: z
    .record(text, toolPrice, {
      error: () => 'expected a map of tools to USD a call, such as tools: { web_search: 0.01 }',
    })
    .default({}),
  per,
  audio_input: price.optional(),
  cached_audio_input: price.optional(),
  audio_output: price.optional(),
  image_input: price.optional(),
  image_output: price.optional(),
  above: z
    .strictObject(
      { tokens: wholeNumber(1), ...basePrices },
      { error: () => 'expected tokens and prices, such as above: { tokens: 200000, input: 2.50, output: 15 }' },
    )
    .optional(),
});

/** Prices of input other than text. */
export const inputKinds = z.array(z.enum(INPUT_KINDS, { error: () => `expected one of ${INPUT_KINDS.join(', ')}` }), {
  error: () => 'expected a list of what the model reads beside text, such as [image, pdf]',
});

const TIER_NAME = /^(?!(?:auto|default)$)[a-z0-9_-]{1,64}$/;
export const serviceTiers = z.record(
  z.string().regex(TIER_NAME, 'expected a service tier other than auto and default, which have the ordinary prices'),
  prices,
  { error: () => 'expected a map of service tiers to prices, such as priority: { input: 3.50, output: 14 }' },
);

/** Prices by the values of a field of messages requests. The ordinary value has the ordinary prices. */
export function pricedValues(field: string, ordinary: string) {
  const name = z
    .string()
    .regex(/^[a-z0-9_-]{1,64}$/)
    .refine((value) => value !== ordinary);
  return z.record(name, prices, {
    error: () =>
      `expected a map of values of ${field} other than ${ordinary} to prices, such as { input: 10, output: 50 }`,
  });
}

export const modelName = z
  .string()
  .regex(/^[!-~]{1,200}$/, 'expected a model name of 1 to 200 visible ASCII characters, without spaces');
export const providerName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'expected a provider name of letters, digits, dot, dash or underscore');

export type ParsedPrices = z.infer<typeof prices>;
export type ParsedTool = ParsedPrices['tools'][string];
