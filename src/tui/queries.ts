/** The queries of the open view to the gateway and the database. Pure. */
import { MOST_FIRST_BYTE_STEPS } from '../observe/first-bytes.ts';
import { MAX_ENDED, type SnapshotQuery } from '../observe/worker-snapshot.ts';
import { shownKeys } from './lists/keys.ts';
import type { Model } from './model.ts';
import { liveRows } from './select.ts';
import { isLongRange } from './series.ts';
import type { SharedQuery } from './shared.ts';

/** Keys around the cursor whose live figures are requested. */
const FOLLOWED_KEYS = 60;

/** Returns the query to the database for all gateways. */
export function sharedQuery(model: Model): SharedQuery {
  const { keyIds = [], maxLive = 0 } = snapshotQuery(model);
  return { keyIds, maxLive, isAlone: model.snapshot === undefined };
}

/** Returns the query to the gateway, limited to the visible data. */
export function snapshotQuery(model: Model): Partial<SnapshotQuery> {
  const { view } = model;
  return {
    keyIds: view === 'keys' ? followedKeys(model) : [],
    maxLive: liveRows(model),
    maxEnded: view === 'live' ? MAX_ENDED : 0,
    ...(view === 'overview' && !isLongRange(model) && { firstByteSteps: MOST_FIRST_BYTE_STEPS }),
    minutesSinceS: minutesSinceS(model),
  };
}

/** Returns the start of the minutes to request: a full hour ago for the pace of spending, or a day for charts. */
function minutesSinceS({ view, chartRange, nowMs }: Model): number {
  if (view === 'overview' && chartRange === '24h') return 0;
  // It changes only once an hour, since each change makes the gateway send all minutes again.
  return 3600 * (Math.floor(nowMs / 3_600_000) - 1);
}

/** Sorted by id, so that reordering the list does not change the query. */
function followedKeys(model: Model): string[] {
  const around = Math.max(0, model.lists.keys.cursor - FOLLOWED_KEYS / 2);
  const visible = shownKeys(model).slice(around, around + FOLLOWED_KEYS);
  return visible.map(({ record }) => record.id).toSorted();
}
