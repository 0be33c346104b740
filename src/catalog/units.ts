/** Which requests a model has prices for: some kinds are billed by units, and others by tokens. Pure. */
import type { DialectName } from '../core/dialects.ts';
import type { ModelTerms } from '../core/model-terms.ts';
import { type Unit, unitName } from '../core/units.ts';

/** The unit that a dialect may be billed by; those that are not here know tokens alone. */
const UNITS: Partial<Record<DialectName, Unit>> = { rerank: 'search' };

/** Why a model has no price for the requests of a dialect, and what to set; undefined if it has one. */
export function unpricedFor(model: ModelTerms, dialect: DialectName): string | undefined {
  const unit = UNITS[dialect];
  const hasUnit = unit !== undefined && model.tools.has(unitName(unit));
  if (hasUnit || model.isWithoutTokenPrices !== true) return undefined;
  const also = unit === undefined ? '' : `, or per: { ${unit} }`;
  return `model: this model has no price for ${dialect}; have its input and output${also} set`;
}
