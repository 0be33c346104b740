/** How often the dashboard reads what it shows. Pure. */
import type { Model } from './model.ts';
import { LONG_SEARCH } from './update/requests.ts';

/** Between two reads of the state, and between two attempts to reach a gateway. */
export const REFRESH_MS = 1_000;
/** From this many keys on a read takes some 30 ms, and one of their usage more, so both are rarer. */
const MANY_KEYS = 2_000;
const REFRESH_MANY_MS = 5_000;
const REFRESH_USAGE_MS = 5_000;
const REFRESH_MANY_USAGE_MS = 30_000;
const REFRESH_REQUESTS_MS = 5_000;
const REFRESH_USERS_MS = 5_000;

export function stateEveryMs({ stored }: Model): number {
  return stored.keys.length > MANY_KEYS ? REFRESH_MANY_MS : REFRESH_MS;
}

/** Only while they are open, at once if they have not been read: those that have are of thirty days. */
export function detailEveryMs({ view, keys, stored }: Model): number {
  if (view !== 'keys' || keys.detail === undefined) return Number.POSITIVE_INFINITY;
  if (keys.detail.byDay.length === 0) return 0;
  return stored.keys.length > MANY_KEYS ? REFRESH_MANY_MS : REFRESH_MS;
}

/** Only while its view is open. */
export function usageEveryMs({ view, usage }: Model): number {
  if (view !== 'usage') return Number.POSITIVE_INFINITY;
  return usage.rows.length > MANY_KEYS ? REFRESH_MANY_USAGE_MS : REFRESH_USAGE_MS;
}

/** Only while some of them are shown. */
export function usersEveryMs({ view, groups }: Model): number {
  return view === 'groups' && groups.users.size > 0 ? REFRESH_USERS_MS : Number.POSITIVE_INFINITY;
}

/** The newest requests are read again only while somebody watches them come in, and not those that are hard to find. */
export function requestsEveryMs({ view, lists, requests }: Model): number {
  const { isReading, isOpen, looked } = requests;
  const isAtTop = view === 'requests' && lists.requests.cursor === 0;
  const isWatched = isAtTop && !isReading && !isOpen && looked < LONG_SEARCH;
  return isWatched ? REFRESH_REQUESTS_MS : Number.POSITIVE_INFINITY;
}
