/** Refresh intervals of the dashboard's data. Pure. */
import type { Model } from './model.ts';
import { LONG_SEARCH } from './update/requests.ts';

/** Interval between reads of the state, and between attempts to reach a gateway. */
export const REFRESH_MS = 1_000;
/** Number of keys above which refreshes are less frequent: a read takes some 30 ms, and the usage takes longer. */
const MANY_KEYS = 2_000;
const REFRESH_MANY_MS = 5_000;
const REFRESH_USAGE_MS = 5_000;
const REFRESH_MANY_USAGE_MS = 30_000;
const REFRESH_REQUESTS_MS = 5_000;
const REFRESH_USERS_MS = 5_000;

export function stateEveryMs({ stored }: Model): number {
  return stored.keys.length > MANY_KEYS ? REFRESH_MANY_MS : REFRESH_MS;
}

/** Interval of the details while they are open. Missing details are read at once. */
export function detailEveryMs({ view, keys, stored }: Model): number {
  if (view !== 'keys' || keys.detail === undefined) return Number.POSITIVE_INFINITY;
  if (keys.detail.byDay.length === 0) return 0;
  return stored.keys.length > MANY_KEYS ? REFRESH_MANY_MS : REFRESH_MS;
}

/** Interval of the usage while its view is open. */
export function usageEveryMs({ view, usage }: Model): number {
  if (view !== 'usage') return Number.POSITIVE_INFINITY;
  return usage.rows.length > MANY_KEYS ? REFRESH_MANY_USAGE_MS : REFRESH_USAGE_MS;
}

/** Interval of the end users while any are visible. */
export function usersEveryMs({ view, groups }: Model): number {
  return view === 'groups' && groups.users.size > 0 ? REFRESH_USERS_MS : Number.POSITIVE_INFINITY;
}

/** Interval of the newest requests. They refresh only at the top of the list, and not during a long search. */
export function requestsEveryMs({ view, lists, requests }: Model): number {
  const { isReading, isOpen, looked } = requests;
  const isAtTop = view === 'requests' && lists.requests.cursor === 0;
  const isWatched = isAtTop && !isReading && !isOpen && looked < LONG_SEARCH;
  return isWatched ? REFRESH_REQUESTS_MS : Number.POSITIVE_INFINITY;
}
