/** What of the model a view shows, and in which order. Pure. */
import { type Nanos, parseUsd } from '../core/money.ts';
import { MAX_ENDED, type RequestRow, type SnapshotQuery } from '../observe/worker-snapshot.ts';
import type { KeySort, Model, StoredKey } from './model.ts';

/** What was asked for last: with 10,000 keys sorting takes 5 ms, and each key that is pressed asks several times. */
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
  const wanted = filter.toLowerCase();
  const passing = keys.filter(({ record }) =>
    [record.name, record.id, record.preview, record.state].some((text) => text.toLowerCase().includes(wanted)),
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

/** The key under the cursor. */
export function currentKey(model: Model): StoredKey | undefined {
  return shownKeys(model)[model.keys.cursor];
}

/** Requests under way, the oldest first, and behind them those that have ended, the latest first. */
export function shownRequests({ snapshot, ended, live: { held } }: Model): readonly RequestRow[] {
  return snapshot === undefined ? [] : [...snapshot.live, ...(held ?? ended).toReversed()];
}

/** The balance and what is held of it: of the running gateway, or else as the file has them. */
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

/** Keys whose live figures are asked for: those around the cursor. */
const FOLLOWED_KEYS = 60;
/** So many requests more are asked for at a time, as the cursor goes down. */
const ROWS_STEP = 50;

/** What the gateway is asked for: no more than the view shows. */
export function snapshotQuery(model: Model): Partial<SnapshotQuery> {
  const { view, keys, live, rows } = model;
  const around = Math.max(0, keys.cursor - FOLLOWED_KEYS / 2);
  const seen = view === 'keys' ? shownKeys(model).slice(around, around + FOLLOWED_KEYS) : [];
  return {
    keyIds: seen.map(({ record }) => record.id),
    maxLive: view === 'live' ? Math.ceil((live.cursor + rows) / ROWS_STEP) * ROWS_STEP : 0,
    maxEnded: view === 'live' ? MAX_ENDED : 0,
  };
}

const byId = new WeakMap<readonly StoredKey[], ReadonlyMap<string, StoredKey>>();

/** The stored keys by their ids: a map of 10,000 is made once for each read of the file, not for each drawing. */
export function keysById({ stored: { keys } }: Model): ReadonlyMap<string, StoredKey> {
  const known = byId.get(keys) ?? new Map(keys.map((key) => [key.record.id, key]));
  byId.set(keys, known);
  return known;
}

/** The name of a key as far as the file tells it, else its id. */
export function keyNames(model: Model): (id: string) => string {
  const keys = keysById(model);
  return (id) => keys.get(id)?.record.name ?? id;
}
