/** How long the credit lasts, at the pace of the last minute and of the last seven days. Pure. */
import { forecastCredit, type Paces } from '../operator/forecast.ts';
import type { Model } from './model.ts';
import { presentOf } from './present.ts';
import { accountOf } from './select.ts';

const NO_MONEY = 'insufficient_credit';

/** A gateway that shares its balance does not know what others spend: the sums of the week do. */
export function creditPaces(model: Model): Paces {
  const balance = accountOf(model);
  const { spending, errors } = presentOf(model);
  const refused = errors.find(([code]) => code === NO_MONEY)?.[1] ?? 0;
  const isKnown = model.snapshot !== undefined && model.shared === undefined;
  return {
    recent: isKnown ? forecastCredit(balance, refused, spending) : undefined,
    week: forecastCredit(balance, refused, model.stored.week),
  };
}
