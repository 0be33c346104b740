/** Builds the key rows of a snapshot from the ledger's and the workers' counts. Pure. */
import type { KeyActivityRow } from '../control/protocol.ts';
import { formatUsd, type Nanos } from '../core/money.ts';
import type { LedgerSnapshot } from '../ledger/ledger.ts';
import { BUSIEST_KEYS } from '../ledger/protocol.ts';
import { type KeyMinute, mergedKeyMinutes } from '../observe/key-minutes.ts';
import type { WorkerSnapshot } from '../observe/worker-snapshot.ts';
import type { KeyActivity } from '../state/nodes.ts';

/** Returns the keys to request from the ledger: the keys of the query, and candidates for the busiest. */
export function keysToAskFor(keyIds: readonly string[], workers: readonly WorkerSnapshot[]): string[] {
  const minutes = [...minutesIn(workers).values()];
  const dearest = minutes
    .toSorted((a, b) => Number(spentIn(b) - spentIn(a)) || b.refused - a.refused)
    .slice(0, BUSIEST_KEYS);
  return [...new Set([...keyIds, ...dearest.map(({ keyId }) => keyId)])];
}

/** `ledger`: the result for {@link keysToAskFor}. */
export function keyRows(
  keyIds: readonly string[],
  workers: readonly WorkerSnapshot[],
  ledger: LedgerSnapshot,
): { readonly busiest: KeyActivityRow[]; readonly keys: KeyActivityRow[] } {
  const minutes = minutesIn(workers);
  const wanted = new Set(keyIds);
  const candidates = new Map([...ledger.busiest, ...ledger.keys].map((activity) => [activity.keyId, activity]));
  // The ledger has no activity for keys with only refusals.
  for (const keyId of minutes.keys()) {
    if (!candidates.has(keyId)) candidates.set(keyId, { keyId, requests: 0, tokens: 0, open: 0 });
  }
  const rows = [...candidates.values()].map((activity) => ranked(activity, minutes.get(activity.keyId)));
  const busiest = rows
    .filter(({ spent, row }) => spent > 0n || row.requests + row.refused + row.open > 0)
    .sort((a, b) => Number(b.spent - a.spent) || asked(b.row) - asked(a.row))
    .slice(0, BUSIEST_KEYS);
  return {
    busiest: busiest.map(({ row }) => row),
    keys: rows.filter(({ row }) => wanted.has(row.id)).map(({ row }) => ({ ...row, history: [] })),
  };
}

function minutesIn(workers: readonly WorkerSnapshot[]): Map<string, KeyMinute> {
  return mergedKeyMinutes(workers.map(({ keys }) => keys));
}

function spentIn({ spentNanos }: KeyMinute): Nanos {
  return BigInt(spentNanos.reduce((sum, nanos) => sum + nanos, 0));
}

function ranked({ keyId, requests, tokens, open }: KeyActivity, minute: KeyMinute | undefined) {
  const spent = minute === undefined ? 0n : spentIn(minute);
  const { refused = 0, spentNanos: history = [] } = minute ?? {};
  const row: KeyActivityRow = { id: keyId, requests, tokens, open, usd_per_min: formatUsd(spent), refused, history };
  return { spent, row };
}

function asked({ requests, refused }: KeyActivityRow): number {
  return requests + refused;
}
