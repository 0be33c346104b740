/** What a client may do without a request for a completion: be identified, and list the models. */
import type { Limits } from '../../core/limits.ts';
import { untouchedFigures } from '../figures.ts';
import type { Identity, KeyAccount, ListingAdmission } from '../ledger.ts';
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
  const terms = { allowlist, concurrency: limits.concurrency, isLeashed: key.leash !== undefined };
  return { kind: 'enabled', keyId, ...terms, refusal, refusalIfFree, figures };
}

/** Takes an entry of the window of listings where it admits one. `key` is undefined for an unknown client. */
export function admitListing(
  key: CachedKey | undefined,
  activities: ActivityTable,
  defaults: Limits,
  { wallMs, nowMs }: Pick<AdmissionFacts, 'wallMs' | 'nowMs'>,
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
  activity.listings.add(nowMs, 1);
  const account: KeyAccount = {
    name: key.record.name,
    spendLimitNanos: key.record.spendLimitNanos,
    chargedNanos: key.chargedNanos,
    budgets: key.budgets?.spends(wallMs) ?? [],
    expiresAtMs: key.record.expiresAtMs,
    requests: activity.figures('requests', limits, nowMs),
    freeSlots: Math.max(0, limits.concurrency - activity.slots),
  };
  return { kind: 'admitted', keyId, allowlist, concurrency: limits.concurrency, account, figures: figures() };
}
