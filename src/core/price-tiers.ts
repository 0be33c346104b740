/**
 * Price tiers: the request values that change prices. Service tiers keep their names. A value of another field is named
 * `speed=fast`; service tiers contain no `=`, so one map holds the prices of all tiers.
 */

/** Header for the service tier in Bedrock requests and responses. */
export const BEDROCK_TIER_HEADER = 'x-amzn-bedrock-service-tier';

/** The service tiers with ordinary prices for every model. */
const ORDINARY_TIERS: readonly string[] = ['auto', 'default', 'standard', 'standard_only'];

/** Fields of messages requests that change prices, with their ordinary values. */
export const PRICED_FIELDS = { speed: 'standard', inference_geo: 'global' } as const;
export type PricedField = keyof typeof PRICED_FIELDS;

export function tierOfField(field: PricedField, value: string): string {
  return `${field}=${value}`;
}

/** Returns the field of a tier: `service_tier`, or a priced field. */
export function fieldOfTier(tier: string): PricedField | 'service_tier' {
  return tier.includes('=') ? (tier.slice(0, tier.indexOf('=')) as PricedField) : 'service_tier';
}

/** Returns the field value of a tier. */
export function valueOfTier(tier: string): string {
  return tier.slice(tier.indexOf('=') + 1);
}

export function isOrdinaryTier(tier: string): boolean {
  const field = fieldOfTier(tier);
  return field === 'service_tier' ? ORDINARY_TIERS.includes(tier) : valueOfTier(tier) === PRICED_FIELDS[field];
}
