/** The keys of a snapshot: which the ledger is asked for, and in which order they are listed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { keyRows, keysToAskFor } from '../../../src/gateway/key-activity.ts';
import type { LedgerSnapshot } from '../../../src/ledger/ledger.ts';
import { BUSIEST_KEYS } from '../../../src/ledger/protocol.ts';
import type { KeyMinute } from '../../../src/observe/key-minutes.ts';
import type { WorkerSnapshot } from '../../../src/observe/worker-snapshot.ts';
import type { KeyActivity } from '../../../src/state/nodes.ts';

/** What one worker has counted. */
function worker(...keys: readonly KeyMinute[]): WorkerSnapshot {
  return { keys } as unknown as WorkerSnapshot;
}

const minute = (keyId: string, nanos: number, refused = 0): KeyMinute => ({ keyId, spentNanos: [0, nanos], refused });
const active = (keyId: string, requests: number, open = 0): KeyActivity => ({ keyId, requests, tokens: 9, open });

function ledger(busiest: readonly KeyActivity[], keys: readonly KeyActivity[] = []): LedgerSnapshot {
  return { balanceNanos: 0n, heldNanos: 0n, busiest, keys };
}

const ranking = (workers: readonly WorkerSnapshot[], known: LedgerSnapshot) =>
  keyRows([], workers, known).busiest.map((row) => [row.id, row.usd_per_min, row.requests, row.refused]);

describe('the busiest keys', () => {
  test('are ranked by what they were charged, then by requests and refusals', () => {
    const workers = [worker(minute('dear', 3_000_000_000), minute('refused', 0, 7)), worker(minute('cheap', 1, 50))];
    const known = ledger([active('busy', 9), active('calm', 6)], [active('dear', 1), active('cheap', 1)]);
    assert.deepEqual(ranking(workers, known), [
      ['dear', '3.00', 1, 0],
      ['cheap', '0.000000001', 1, 50],
      ['busy', '0.00', 9, 0],
      ['refused', '0.00', 0, 7],
      ['calm', '0.00', 6, 0],
    ]);
  });

  test('have the sums of all workers, step by step', () => {
    const [row] = keyRows([], [worker(minute('a', 5, 1)), worker(minute('a', 7, 2))], ledger([])).busiest;
    assert.deepEqual([row?.usd_per_min, row?.refused, row?.history], ['0.000000012', 3, [0, 12]]);
  });

  test('include one that only has requests in flight, and none that does nothing', () => {
    assert.deepEqual(ranking([worker()], ledger([active('open', 0, 1)], [active('idle', 0)])), [
      ['open', '0.00', 0, 0],
    ]);
  });

  test('are as many as the ledger tells, at most', () => {
    const many = Array.from({ length: 3 * BUSIEST_KEYS }, (_, i) => minute(`key_${i}`, i + 1));
    const asked = keysToAskFor(['key_0', 'key_wanted'], [worker(...many)]);
    assert.deepEqual([asked.length, asked[0], asked[1], asked[2]], [BUSIEST_KEYS + 2, 'key_0', 'key_wanted', 'key_59']);
    const ids = keyRows([], [worker(...many)], ledger([])).busiest.map(({ id }) => id);
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [BUSIEST_KEYS, 'key_59', 'key_40']);
  });
});

test('a key that is asked for has its figures, and no history', () => {
  const workers = [worker(minute('a', 5, 2), minute('b', 9))];
  assert.deepEqual(keyRows(['a', 'none'], workers, ledger([], [active('a', 3), active('b', 4)])).keys, [
    { id: 'a', requests: 3, tokens: 9, open: 0, usd_per_min: '0.000000005', refused: 2, history: [] },
  ]);
});
