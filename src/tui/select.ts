/** Selectors: values that views derive from the model. Pure. */

import type { KeyActivityRow } from '../control/protocol.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import { type Blocker, blockerOf as blockerIn, isSpent } from '../operator/spending.ts';
import { isGone, type KeyRecord } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import type { LiveRow, Model, StoredGroup, StoredKey } from './model.ts';

const dearest = new WeakMap<readonly StoredKey[], readonly StoredKey[]>();

/** Returns the keys used this month by cost, highest first. Sorted once per read of the state. */
export function dearestKeys(keys: readonly StoredKey[]): readonly StoredKey[] {
  const known = dearest.get(keys);
  if (known !== undefined) return known;
  const sorted = keys
    .filter(({ month }) => month.requests > 0)
    .sort((a, b) => Number(b.month.costNanos - a.month.costNanos) || b.month.requests - a.month.requests);
  dearest.set(keys, sorted);
  return sorted;
}

/** Returns the requests in flight, oldest first, then the ended ones, latest first. */
export function requestsNow(model: Model): readonly LiveRow[] {
  const { snapshot, shared, ended, live } = model;
  const past = snapshot === undefined ? [] : (live.frozen ?? ended).toReversed();
  const own = snapshot?.live ?? [];
  if (shared === undefined) return [...own, ...past];
  // The gateway's snapshot has more details of its own requests than the database.
  const others = shared.open.filter(({ elsewhere }) => snapshot === undefined || elsewhere?.node !== shared.ownNode);
  const inFlight = [...own, ...others].toSorted((a, b) => a.admitted_at_ms - b.admitted_at_ms);
  return [...inFlight.slice(0, liveRows(model)), ...past];
}

/** Returns the number of requests in flight on all gateways; undefined if unknown. */
export function inFlightOf({ snapshot, shared }: Model): number | undefined {
  if (shared === undefined) return snapshot?.in_flight;
  const others = shared.nodes.filter(({ name }) => snapshot === undefined || name !== shared.ownNode);
  return others.reduce((sum, { inFlight }) => sum + inFlight, snapshot?.in_flight ?? 0);
}

const NO_ACTIVITY = { busiest: [], keys: [] };

/** Returns the activity of the busiest and of the visible keys. */
export function activityOf({ snapshot, shared }: Model): {
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
} {
  return snapshot ?? shared ?? NO_ACTIVITY;
}

const activities = new WeakMap<object, ReadonlyMap<string, KeyActivityRow>>();

/** Returns the known activity by key id. The map is built once per snapshot. */
export function activityById(model: Model): ReadonlyMap<string, KeyActivityRow> {
  const of = activityOf(model);
  const known = activities.get(of) ?? new Map(of.keys.concat(of.busiest).map((row) => [row.id, row]));
  activities.set(of, known);
  return known;
}

/** Returns the balance and the held amount, from the running gateway or else from the store. */
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

/** Additional requests to load as the cursor moves down. */
const ROWS_STEP = 50;

/** Returns the number of requests in flight to load. */
export function liveRows({ view, lists, rows }: Model): number {
  return view === 'live' ? Math.ceil((lists.live.cursor + rows) / ROWS_STEP) * ROWS_STEP : 0;
}

/** Minimum columns for a pane at the right of a list, which shows the details of the row under the cursor. */
const PANE_COLUMNS = 160;

/** Whether lists have a pane at their right. */
export function hasPane({ columns }: Model): boolean {
  return columns >= PANE_COLUMNS;
}

const byId = new WeakMap<readonly StoredKey[], ReadonlyMap<string, StoredKey>>();

/** Returns the stored keys by id. The map is built once per read of the state. */
export function keysById({ stored: { keys } }: Model): ReadonlyMap<string, StoredKey> {
  const known = byId.get(keys) ?? new Map(keys.map((key) => [key.record.id, key]));
  byId.set(keys, known);
  return known;
}

const groupsOnce = new WeakMap<readonly StoredGroup[], ReadonlyMap<string, StoredGroup>>();

/** Returns the stored groups by id. The map is built once per read of the state. */
export function groupsById({ stored: { groups } }: Model): ReadonlyMap<string, StoredGroup> {
  const known = groupsOnce.get(groups) ?? new Map(groups.map((group) => [group.record.id, group]));
  groupsOnce.set(groups, known);
  return known;
}

/** Returns the key or group with an id. */
export function ownerById(model: Model, id: string): KeyRecord | GroupRecord | undefined {
  return (keysById(model).get(id) ?? groupsById(model).get(id))?.record;
}

/** Returns a function from a key's id to its name, or to the id if the store lacks the key. */
export function keyNames(model: Model): (id: string) => string {
  const keys = keysById(model);
  return (id) => keys.get(id)?.record.name ?? id;
}

const reached = new WeakMap<readonly unknown[], readonly (StoredKey | StoredGroup)[]>();

/** Returns the key or group with an id, and its figures. */
export function levelById(model: Model, id: string): StoredKey | StoredGroup | undefined {
  return keysById(model).get(id) ?? groupsById(model).get(id);
}

/** Returns the level that stops the requests of a key or group: itself, or an outer group. */
export function blockerOf(level: StoredKey | StoredGroup, model: Model): Blocker<StoredKey | StoredGroup> | undefined {
  return blockerIn(level, (id) => levelById(model, id), model.nowMs);
}

/**
 * Returns the keys, or the groups, that are stopped by a spent budget. The candidates are computed once per read of
 * the state.
 */
export function spentLevels<Level extends StoredKey | StoredGroup>(
  levels: readonly Level[],
  nowMs: number,
): readonly Level[] {
  const known =
    (reached.get(levels) as readonly Level[] | undefined) ??
    levels.filter(
      ({ record, bounds }) =>
        record.state === 'enabled' && bounds.some(({ chargedNanos, limitNanos }) => chargedNanos >= limitNanos),
    );
  reached.set(levels, known);
  return known.filter(
    ({ record, bounds }) =>
      !isGone({ expiresAtMs: null, ...record }, nowMs) && bounds.some((bound) => isSpent(bound, nowMs)),
  );
}
