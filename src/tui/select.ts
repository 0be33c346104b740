/** What views read out of the model. Pure. */

import type { KeyActivityRow } from '../control/protocol.ts';
import { type Nanos, parseUsd } from '../core/money.ts';
import { type Blocker, blockerOf as blockerIn, isSpent } from '../operator/spending.ts';
import { isGone, type KeyRecord } from '../state/keys.ts';
import type { GroupRecord } from '../state/levels.ts';
import type { LiveRow, Model, StoredGroup, StoredKey } from './model.ts';

const dearest = new WeakMap<readonly StoredKey[], readonly StoredKey[]>();

/** The keys that were used this month, by what they have cost. Sorted once for each read of the state. */
export function dearestKeys(keys: readonly StoredKey[]): readonly StoredKey[] {
  const known = dearest.get(keys);
  if (known !== undefined) return known;
  const sorted = keys
    .filter(({ month }) => month.requests > 0)
    .sort((a, b) => Number(b.month.costNanos - a.month.costNanos) || b.month.requests - a.month.requests);
  dearest.set(keys, sorted);
  return sorted;
}

/** Requests in flight, oldest first, then those that have ended, latest first. */
export function requestsNow(model: Model): readonly LiveRow[] {
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

const NO_ACTIVITY = { busiest: [], keys: [] };

/** What the keys are doing that are busiest, or shown. */
export function activityOf({ snapshot, shared }: Model): {
  readonly busiest: readonly KeyActivityRow[];
  readonly keys: readonly KeyActivityRow[];
} {
  return snapshot ?? shared ?? NO_ACTIVITY;
}

const activities = new WeakMap<object, ReadonlyMap<string, KeyActivityRow>>();

/** What is known of what keys are doing, by id. The map is built once for each snapshot. */
export function activityById(model: Model): ReadonlyMap<string, KeyActivityRow> {
  const of = activityOf(model);
  const known = activities.get(of) ?? new Map(of.keys.concat(of.busiest).map((row) => [row.id, row]));
  activities.set(of, known);
  return known;
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

/** How many more requests to ask for as the cursor moves down. */
const ROWS_STEP = 50;

/** How many requests in flight to ask for. */
export function liveRows({ view, lists, rows }: Model): number {
  return view === 'live' ? Math.ceil((lists.live.cursor + rows) / ROWS_STEP) * ROWS_STEP : 0;
}

/** From so many columns on details stand beside a list, and those of the row under the cursor by themselves. */
const PANE_COLUMNS = 160;

/** Whether a list has a pane beside it that follows the cursor. */
export function hasPane({ columns }: Model): boolean {
  return columns >= PANE_COLUMNS;
}

const byId = new WeakMap<readonly StoredKey[], ReadonlyMap<string, StoredKey>>();

/** The stored keys by id. The map is built once for each read of the state file. */
export function keysById({ stored: { keys } }: Model): ReadonlyMap<string, StoredKey> {
  const known = byId.get(keys) ?? new Map(keys.map((key) => [key.record.id, key]));
  byId.set(keys, known);
  return known;
}

const groupsOnce = new WeakMap<readonly StoredGroup[], ReadonlyMap<string, StoredGroup>>();

/** The stored groups by id. The map is built once for each read of the state. */
export function groupsById({ stored: { groups } }: Model): ReadonlyMap<string, StoredGroup> {
  const known = groupsOnce.get(groups) ?? new Map(groups.map((group) => [group.record.id, group]));
  groupsOnce.set(groups, known);
  return known;
}

/** The key or the group with an id: what may have end users. */
export function ownerById(model: Model, id: string): KeyRecord | GroupRecord | undefined {
  return (keysById(model).get(id) ?? groupsById(model).get(id))?.record;
}

/** The name of a key, or its id if the state file does not have it. */
export function keyNames(model: Model): (id: string) => string {
  const keys = keysById(model);
  return (id) => keys.get(id)?.record.name ?? id;
}

const reached = new WeakMap<readonly unknown[], readonly (StoredKey | StoredGroup)[]>();

/** A key or a group by its id. */
export function levelById(model: Model, id: string): StoredKey | StoredGroup | undefined {
  return keysById(model).get(id) ?? groupsById(model).get(id);
}

/** The level that stops the requests of a key or a group: itself, or one around it. */
export function blockerOf(level: StoredKey | StoredGroup, model: Model): Blocker<StoredKey | StoredGroup> | undefined {
  return blockerIn(level, (id) => levelById(model, id), model.nowMs);
}

/** The keys, or the groups, that serve nothing because a budget is spent. Those that may be are looked for once for each read of the state. */
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
