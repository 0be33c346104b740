/** Recovery after a crash: settles the requests that it left open. */
import { invariant } from '../../core/invariant.ts';
import type { Settlement } from '../../core/settlement.ts';
import { cleanName } from '../../core/spent-by.ts';
import type { HoldRow } from '../../state/journal.ts';
import type { LedgerStore } from '../../state/sqlite/ledger-store.ts';

const INTERRUPTED = {
  outcome: 'interrupted',
  source: 'held',
  completionId: undefined,
  firstByteMs: undefined,
  failure: {
    reason: 'interrupted',
    status: undefined,
    message: 'the gateway stopped before the request ended',
  },
} as const;

/** The settlement of a request whose process ended first: the full hold is charged. */
export function chargedAsHeld({
  requestId,
  inputTokens,
  outputTokens,
  holdNanos,
  user,
}: Pick<HoldRow, 'requestId' | 'inputTokens' | 'outputTokens' | 'holdNanos' | 'user'>): Settlement {
  const usage = { promptTokens: inputTokens, cachedTokens: 0, completionTokens: outputTokens };
  const spentBy = user === undefined ? undefined : { user: cleanName(user), tag: '', app: '' };
  return { ...INTERRUPTED, requestId, usage, costNanos: holdNanos, spentBy };
}

/** Charges every open hold in full and ends its request. Returns the number of requests. */
export function settleOpenHolds(store: LedgerStore, wallMs: number): number {
  return store.transaction(() => {
    const before = store.balance();
    const holds = store.journal.openHolds();
    let charged = 0n;
    for (const hold of holds) {
      store.journal.settle(hold, chargedAsHeld(hold), wallMs);
      charged += hold.holdNanos;
    }
    store.journal.writeCharges();
    const after = store.balance();
    invariant(
      after === before - charged,
      () => `recovery charged ${charged} nanos, but the balance went from ${before} to ${after}`,
    );
    return holds.length;
  });
}
