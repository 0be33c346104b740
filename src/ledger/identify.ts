/** What a client may do without a request for a completion: be identified, and list the models. */
import type { Limits } from '../core/limits.ts';
import { untouchedFigures } from './activity.ts';
import type { ActivityTable } from './activity-table.ts';
import { waitForListing } from './admission.ts';
import type { CachedKey } from './key-cache.ts';
import type { Identity, ListingAdmission } from './ledger.ts';

/** `defaults` are the limits that an unknown client is shown. */
export function identify(
  key: CachedKey | undefined,
  activities: ActivityTable,
  defaults: Limits,
  nowMs: number,
): Identity {
  if (key === undefined || key.record.state === 'deleted') {
    return { kind: 'unknown', figures: untouchedFigures('requests', defaults) };
  }
  const { id: keyId, state, allowlist } = key.record;
  const figures = activities.of(keyId).figures('requests', key.limits, nowMs);
  return state === 'disabled' ? { kind: state, keyId, figures } : { kind: 'enabled', keyId, allowlist, figures };
}

/** Takes an entry of the window of listings where it admits one. */
export function admitListing(
  key: CachedKey | undefined,
  activities: ActivityTable,
  defaults: Limits,
  nowMs: number,
): ListingAdmission {
  if (key === undefined || key.record.state === 'deleted') {
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
  return { kind: 'admitted', keyId, allowlist, figures: figures() };
}
