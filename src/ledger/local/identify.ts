/** What a client may do without a request for a completion: be identified, list the models, and count tokens. */
import type { Limits } from '../../core/limits.ts';
import { untouchedFigures } from '../figures.ts';
import type { Identity, KeyAccount, ListingAdmission } from '../ledger.ts';
import type { Activity } from './activity.ts';
import type { ActivityTable } from './activity-table.ts';
import { type AdmissionFacts, refusalOfLeast, waitForListing } from './admission.ts';
import type { CachedKey } from './key-cache.ts';

/** `facts` are undefined for an unknown client, which is shown the limits `defaults`. */
export function identify(facts: AdmissionFacts | undefined, defaults: Limits): Identity {
  if (facts === undefined) return { kind: 'unknown', figures: untouchedFigures('requests', defaults) };
  const { key, limits, activity, nowMs } = facts;
  const { id: keyId, state, allowlist } = key;
  const figures = activity.figures('requests', limits, nowMs);
  if (state === 'disabled') return { kind: 'disabled', keyId, figures };
  const refusal = refusalOfLeast(facts, 1n);
  const refusalIfFree = refusal && refusalOfLeast(facts, 0n);
  const requiresUser = key.userLimits?.required === true;
  const terms = { allowlist, concurrency: limits.concurrency, isLeashed: key.leash !== undefined, requiresUser };
  const freeSlots = freeSlotsOf(activity, limits);
  return { kind: 'enabled', keyId, ...terms, freeSlots, refusal, refusalIfFree, figures };
}

/**
 * Takes an entry of the window of listings where it admits one. `key` is undefined for an unknown client. `counts` are
 * those in flight that `activities` do not know of, where this is one that needs a slot.
 */
export function admitListing(
  key: CachedKey | undefined,
  activities: ActivityTable,
  defaults: Limits,
  { wallMs, nowMs }: Pick<AdmissionFacts, 'wallMs' | 'nowMs'>,
  counts: number | undefined,
): ListingAdmission {
  if (key === undefined) {
    return { kind: 'unknown', figures: untouchedFigures('listings', defaults) };
  }
  const { limits } = key;
  const { id: keyId, state, allowlist } = key.record;
  const activity = activities.of(keyId);
  const figures = () => activity.figures('listings', limits, nowMs);
  if (state === 'disabled') return { kind: 'disabled', keyId, figures: figures() };
  const retryAfterS = waitForListing({ activity, limits, nowMs });
  if (retryAfterS > 0) return { kind: 'limited', keyId, retryAfterS, limit: limits.modelsRpm, figures: figures() };
  const requests = activity.figures('requests', limits, nowMs);
  const freeSlots = freeSlotsOf(activity, limits);
  if (counts !== undefined && freeSlots <= counts)
    return { kind: 'busy', keyId, limit: limits.concurrency, figures: requests };
  activity.listings.add(nowMs, 1);
  const account: KeyAccount = {
    name: key.record.name,
    spendLimitNanos: key.record.spendLimitNanos,
    chargedNanos: key.chargedNanos,
    budgets: key.budgets?.spends(wallMs) ?? [],
    expiresAtMs: key.record.expiresAtMs,
    requests,
    freeSlots,
  };
  return { kind: 'admitted', keyId, allowlist, concurrency: limits.concurrency, account, figures: figures() };
}

function freeSlotsOf({ slots }: Activity, { concurrency }: Limits): number {
  return Math.max(0, concurrency - slots);
}
