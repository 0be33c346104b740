/** What the view that is open has to ask the gateway and the database for. Pure. */
import { MOST_FIRST_BYTE_STEPS } from '../observe/first-bytes.ts';
import { MAX_ENDED, type SnapshotQuery } from '../observe/worker-snapshot.ts';
import { shownKeys } from './lists/keys.ts';
import type { Model } from './model.ts';
import { liveRows } from './select.ts';
import { isLongRange } from './series.ts';
import type { SharedQuery } from './shared.ts';

/** How many keys around the cursor to ask live figures for. */
const FOLLOWED_KEYS = 60;

/** What to ask the database for, of all gateways. */
export function sharedQuery(model: Model): SharedQuery {
  const { keyIds = [], maxLive = 0 } = snapshotQuery(model);
  return { keyIds, maxLive, isAlone: model.snapshot === undefined };
}

/** What to ask the gateway for: no more than the view shows. */
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

/** Minutes of the last hour, since a full hour, for the pace of the spending; of the day only while they are shown. */
function minutesSinceS({ view, chartRange, nowMs }: Model): number {
  if (view === 'overview' && chartRange === '24h') return 0;
  // It changes only once an hour: with each change all is sent again.
  return 3600 * (Math.floor(nowMs / 3_600_000) - 1);
}

/** In the order of their ids: keys that only change places in the list are no other query. */
function followedKeys(model: Model): string[] {
  const around = Math.max(0, model.lists.keys.cursor - FOLLOWED_KEYS / 2);
  const visible = shownKeys(model).slice(around, around + FOLLOWED_KEYS);
  return visible.map(({ record }) => record.id).toSorted();
}
