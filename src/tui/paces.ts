/** How long the credit lasts, at the pace of the last ten minutes and of the last seven days. Pure. */
import { forecastCredit, type Paces, recentSpending } from '../operator/forecast.ts';
import type { Model } from './model.ts';
import { presentOf } from './present.ts';
import { accountOf } from './select.ts';

const NO_MONEY = 'insufficient_credit';

/**
 * Returns both paces. A gateway with a shared balance does not know the other gateways' recent spending; the weekly
 * sums include it.
 */
export function creditPaces(model: Model): Paces {
  const balance = accountOf(model);
  const { errors } = presentOf(model);
  const refused = errors.find(([code]) => code === NO_MONEY)?.[1] ?? 0;
  const { snapshot, minutes, nowMs } = model;
  const recent =
    snapshot === undefined || model.shared !== undefined
      ? undefined
      : recentSpending(minutes, snapshot.started_at_ms, nowMs);
  return {
    recent: recent && forecastCredit(balance, refused, recent),
    week: forecastCredit(balance, refused, model.stored.week),
  };
}
