/** What a view shows of the model, in which order, and what it has to ask the gateway for. Pure. */

import type { KeyActivityRow } from '../control/protocol.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import { MAX_ENDED, type SnapshotQuery, type UpstreamState } from '../observe/worker-snapshot.ts';
import type { KeySort, LiveRow, Model, StoredKey } from './model.ts';
import type { SharedQuery } from './shared.ts';

/** The last result: sorting 10,000 keys takes 5 ms, and a key press needs it several times. */
let last: { readonly of: readonly unknown[]; readonly shown: readonly StoredKey[] } | undefined;

/** The keys that pass the filter, sorted. */
export function shownKeys({ stored, keys: { filter, sort } }: Model): readonly StoredKey[] {
  const of = [stored.keys, filter, sort];
  if (last === undefined || of.some((part, index) => part !== last?.of[index])) {
    last = { of, shown: filteredKeys(stored.keys, filter, sort) };
  }
  return last.shown;
}

function filteredKeys(keys: readonly StoredKey[], filter: string, sort: KeySort): readonly StoredKey[] {
  const text = filter.toLowerCase();
  const passing = keys.filter(({ record }) =>
    [record.name, record.id, record.preview, record.state].some((field) => field.toLowerCase().includes(text)),
  );
  return passing.toSorted(ORDERS[sort]);
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true });

const ORDERS: Readonly<Record<KeySort, (a: StoredKey, b: StoredKey) => number>> = {
  name: (a, b) => COLLATOR.compare(a.record.name, b.record.name),
  requests: (a, b) => b.month.requests - a.month.requests,
  tokens: (a, b) => b.month.tokens - a.month.tokens,
  cost: (a, b) => Number(b.month.costNanos - a.month.costNanos),
  created: (a, b) => b.record.createdAtMs - a.record.createdAtMs,
};

const dearest = new WeakMap<readonly StoredKey[], readonly StoredKey[]>();

/** The keys that were used this month, by what they have cost. Sorted once for each read of the state. */
export function dearestKeys(keys: readonly StoredKey[]): readonly StoredKey[] {
  const known = dearest.get(keys);
  if (known !== undefined) return known;
  const sorted = keys
    .filter(({ month }) => month.requests > 0)
    .sort((a, b) => ORDERS.cost(a, b) || ORDERS.requests(a, b));
  dearest.set(keys, sorted);
  return sorted;
}

/** The key under the cursor. */
export function currentKey(model: Model): StoredKey | undefined {
  return shownKeys(model)[model.keys.cursor];
}

/** Requests in flight, oldest first, then those that have ended, latest first. */
export function shownRequests(model: Model): readonly LiveRow[] {
  const { snapshot, shared, ended, live } = model;
  const past = snapshot === undefined ? [] : (live.frozen ?? ended).toReversed();
  const own = snapshot?.live ?? [];
  if (shared === undefined) return [...own, ...past];
  // The gateway here tells more of its own requests than their holds do.
  const others = shared.open.filter(({ elsewhere }) => snapshot === undefined || elsewhere?.node !== shared.ownNode);
  const inFlight = [...own, ...others].toSorted((a, b) => a.admitted_at_ms - b.admitted_at_ms);
  return [...inFlight.slice(0, liveRows(model)), ...past];
}

/** Requests in flight on all gateways; undefined if nobody tells. */
export function inFlightOf({ snapshot, shared }: Model): number | undefined {
  if (shared === undefined) return snapshot?.in_flight;
  const others = shared.nodes.filter(({ name }) => snapshot === undefined || name !== shared.ownNode);
  return others.reduce((sum, { inFlight }) => sum + inFlight, snapshot?.in_flight ?? 0);
}

/** What the keys are doing that are busiest, or shown. */
export function activityOf({ snapshot, shared }: Model): {
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
} {
  return snapshot ?? shared ?? { busiest: [], keys: [] };
}

/** The balance and the amount held, from the running gateway or else from the state file. */
export function accountOf({ snapshot, stored }: Model): { readonly balanceNanos: Nanos; readonly heldNanos: Nanos } {
  return {
    balanceNanos: nanosOf(snapshot?.balance_usd) ?? stored.balanceNanos,
    heldNanos: nanosOf(snapshot?.held_usd) ?? stored.heldNanos,
  };
}

function nanosOf(text: string | null | undefined): Nanos | undefined {
  if (text === null || text === undefined) return undefined;
  return text.startsWith('-') ? -(parseUsd(text.slice(1)) ?? 0n) : parseUsd(text);
}

/** Whether an upstream in this state gets no requests. */
export function isUnused(state: UpstreamState): boolean {
  return state === 'open' || state === 'backing_off';
}

/** How many keys around the cursor to ask live figures for. */
const FOLLOWED_KEYS = 60;
/** How many more requests to ask for as the cursor moves down. */
const ROWS_STEP = 50;

/** How many requests in flight to ask for. */
function liveRows({ view, live, rows }: Model): number {
  return view === 'live' ? Math.ceil((live.cursor + rows) / ROWS_STEP) * ROWS_STEP : 0;
}

/** What to ask the database for, of all gateways. */
export function sharedQuery(model: Model): SharedQuery {
  const { keyIds = [], maxLive = 0 } = snapshotQuery(model);
  return { keyIds, maxLive, isAlone: model.snapshot === undefined };
}

/** What to ask the gateway for: no more than the view shows. */
export function snapshotQuery(model: Model): Partial<SnapshotQuery> {
  const { view, keys } = model;
  const around = Math.max(0, keys.cursor - FOLLOWED_KEYS / 2);
  const visible = view === 'keys' ? shownKeys(model).slice(around, around + FOLLOWED_KEYS) : [];
  return {
    keyIds: visible.map(({ record }) => record.id),
    maxLive: liveRows(model),
    maxEnded: view === 'live' ? MAX_ENDED : 0,
  };
}

const byId = new WeakMap<readonly StoredKey[], ReadonlyMap<string, StoredKey>>();

/** The stored keys by id. The map is built once for each read of the state file. */
export function keysById({ stored: { keys } }: Model): ReadonlyMap<string, StoredKey> {
  const known = byId.get(keys) ?? new Map(keys.map((key) => [key.record.id, key]));
  byId.set(keys, known);
  return known;
}

/** The name of a key, or its id if the state file does not have it. */
export function keyNames(model: Model): (id: string) => string {
  const keys = keysById(model);
  return (id) => keys.get(id)?.record.name ?? id;
}
