/** Recovery after a crash: settles the requests that it left open. */
import { invariant } from '../../core/invariant.ts';
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

/** Charges every open hold in full and ends its request. Returns the number of requests. */
export function settleOpenHolds(store: LedgerStore, wallMs: number): number {
  return store.transaction(() => {
    const before = store.balance();
    const holds = store.openHolds();
    let charged = 0n;
    for (const hold of holds) {
      const usage = { promptTokens: hold.inputTokens, cachedTokens: 0, completionTokens: hold.outputTokens };
      store.settle(hold, { ...INTERRUPTED, usage, costNanos: hold.holdNanos }, wallMs);
      charged += hold.holdNanos;
    }
    store.writeCharges();
    const after = store.balance();
    invariant(
      after === before - charged,
      () => `recovery charged ${charged} nanos, but the balance went from ${before} to ${after}`,
    );
    return holds.length;
  });
}
