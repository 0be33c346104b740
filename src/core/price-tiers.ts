/**
 * The values of a request that change its prices. Service tiers keep their names. A value of another field has the name
 * `speed=fast`, which no service tier has, so that prices by any of them are in one map.
 */

/** Names the service tier in requests to Bedrock and in its responses. */
export const BEDROCK_TIER_HEADER = 'x-amzn-bedrock-service-tier';

/** The service tiers at which every model has its ordinary prices. */
const ORDINARY_TIERS: readonly string[] = ['auto', 'default', 'standard', 'standard_only'];

/** Fields of messages requests that change the prices, with the ordinary value of each. */
export const PRICED_FIELDS = { speed: 'standard', inference_geo: 'global' } as const;
export type PricedField = keyof typeof PRICED_FIELDS;

export function tierOfField(field: PricedField, value: string): string {
  return `${field}=${value}`;
}

/** The field of a tier by its name: `service_tier`, or a priced field. */
export function fieldOfTier(tier: string): PricedField | 'service_tier' {
  return tier.includes('=') ? (tier.slice(0, tier.indexOf('=')) as PricedField) : 'service_tier';
}

/** The value of the field that a tier stands for. */
export function valueOfTier(tier: string): string {
  return tier.slice(tier.indexOf('=') + 1);
}

export function isOrdinaryTier(tier: string): boolean {
  const field = fieldOfTier(tier);
  return field === 'service_tier' ? ORDINARY_TIERS.includes(tier) : valueOfTier(tier) === PRICED_FIELDS[field];
}
