/**
 * Events other than key presses: snapshots, a stopped gateway, messages, time, and the window size.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { TrafficRow } from '../../src/control/protocol.ts';
import { MAX_ENDED } from '../../src/observe/worker-snapshot.ts';
import type { View } from '../../src/tui/model.ts';
import { snapshotQuery } from '../../src/tui/queries.ts';
import { usageEveryMs } from '../../src/tui/refresh.ts';
import { withEnded, withSeconds } from '../../src/tui/update/step.ts';
import { after, alone, NOW_MS, press, requestRow, SNAPSHOT, STORED, second, serving, usageRow } from './samples.ts';

const NOW_S = NOW_MS / 1_000;

describe('a message', () => {
  const shown = after(alone(), { kind: 'outcome', text: 'Done.', tone: 'good' });

  test('stays for six seconds', () => {
    assert.equal(after(shown, { kind: 'tick', nowMs: NOW_MS + 6_000 }).message?.text, 'Done.');
    assert.equal(after(shown, { kind: 'tick', nowMs: NOW_MS + 6_001 }).message, undefined);
  });

  test('goes by the clock of the gateway as well', () => {
    const later = { ...SNAPSHOT, now_ms: NOW_MS + 7_000 };
    assert.equal(after(shown, { kind: 'snapshot', snapshot: later }).message, undefined);
  });

  test('is replaced by the next one, which has its own six seconds', () => {
    const next = after(shown, { kind: 'tick', nowMs: NOW_MS + 5_000 }, { kind: 'outcome', text: 'No.', tone: 'bad' });
    const later = after(next, { kind: 'tick', nowMs: NOW_MS + 7_000 });
    assert.deepEqual(later.message, { text: 'No.', tone: 'bad', untilMs: NOW_MS + 11_000 });
  });

  test('stays while keys are pressed', () => {
    assert.equal(press(shown, '2', 'down', '?').model.message?.text, 'Done.');
  });
});

describe('the gateway', () => {
  test('is shown once it is running', () => {
    const model = serving();
    assert.deepEqual(model.snapshot, SNAPSHOT);
    assert.equal(model.wasConnected, true);
    assert.equal(model.nowMs, SNAPSHOT.now_ms);
  });

  test('leaves its seconds on the screen when it stops', () => {
    const model = after(serving(), { kind: 'disconnected' });
    assert.equal(model.snapshot, undefined);
    assert.equal(model.seconds.length, 240);
  });

  test('does not disturb what is being typed', () => {
    const typing = press(alone('keys'), 'n', 'a', 'b').model;
    const model = after(typing, { kind: 'snapshot', snapshot: SNAPSHOT }, { kind: 'stored', stored: STORED });
    assert.deepEqual(model.dialog, typing.dialog);
  });
});

describe('requests that have ended', () => {
  const rows = (...endedAtMs: number[]) =>
    endedAtMs.map((ended_at_ms) => ({ ...requestRow(0, { id: `req_${ended_at_ms}` }), ended_at_ms }));
  const times = (list: ReturnType<typeof withEnded>) => list.map(({ ended_at_ms }) => ended_at_ms);

  const cases: readonly (readonly [what: string, known: number[], fresh: number[], expected: number[]])[] = [
    ['follow the known ones', [1, 2], [3, 4], [1, 2, 3, 4]],
    ['in the last known millisecond replace those known of it', [1, 2, 2], [2, 2, 2, 3], [1, 2, 2, 2, 3]],
    ['change nothing if there are none', [1, 2], [], [1, 2]],
    ['replace all if they are reported from the beginning', [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]],
  ];
  for (const [what, known, fresh, expected] of cases) {
    test(what, () => assert.deepEqual(times(withEnded(rows(...known), rows(...fresh))), expected));
  }

  test('are kept up to the last 200', () => {
    const known = rows(...Array.from({ length: 150 }, (_, index) => index));
    const fresh = rows(...Array.from({ length: 100 }, (_, index) => 150 + index));
    const kept = withEnded(known, fresh);
    assert.deepEqual([kept.length, kept[0]?.ended_at_ms, kept.at(-1)?.ended_at_ms], [200, 50, 249]);
  });

  test('stay on the screen while the feed reports only new ones', () => {
    const [fresh] = rows(NOW_MS);
    const model = after(serving('live'), { kind: 'snapshot', snapshot: { ...SNAPSHOT, recent: fresh ? [fresh] : [] } });
    assert.deepEqual(model.ended, [...SNAPSHOT.recent, fresh]);
  });
});

describe('the gateway is asked for no more than the view shows', () => {
  const keyIds = STORED.keys.map(({ record }) => record.id).toSorted();
  const cases: readonly (readonly [view: View, keys: boolean, rows: number])[] = [
    ['overview', false, 0],
    ['keys', true, 0],
    ['live', false, 50],
    ['usage', false, 0],
    ['models', false, 0],
  ];
  for (const [view, hasKeys, rows] of cases) {
    test(view, () => {
      const query = snapshotQuery(serving(view));
      assert.deepEqual([query.keyIds?.toSorted(), query.maxLive], [hasKeys ? keyIds : [], rows]);
      assert.equal(query.maxEnded, rows === 0 ? 0 : MAX_ENDED);
    });
  }

  test('further down in Live, as far as the bottom of the screen', () => {
    const model = serving('live');
    const at = (cursor: number) =>
      snapshotQuery({ ...model, lists: { ...model.lists, live: { ...model.lists.live, cursor } } }).maxLive;
    assert.deepEqual([at(0), at(26), at(27), at(76), at(77)], [50, 50, 100, 100, 150]);
  });
});

test('a new window size changes nothing else', () => {
  const model = serving('keys');
  assert.deepEqual(after(model, { kind: 'resize', columns: 120, rows: 60 }), { ...model, columns: 120, rows: 60 });
});

test('new usage figures replace the previous ones, and the cursor stays on its row', () => {
  const at = press(serving('usage'), 'down').model;
  const rows = at.usage.rows.toReversed();
  const { usage, lists } = after(at, { kind: 'tick', nowMs: NOW_MS + 5_000 }, { kind: 'usage', rows });
  assert.deepEqual([usage.rows, usage.readAtMs, lists.usage.cursor], [rows, NOW_MS + 5_000, 1]);
  assert.equal(after(press(at, 'down').model, { kind: 'usage', rows }).lists.usage.cursor, 0);
  assert.deepEqual(after(at, { kind: 'usage', rows: [] }).usage.rows, []);
});

test('usage is read again only while it is on the screen, and many keys less often', () => {
  const many = { ...serving('usage').usage, rows: Array.from({ length: 10_000 }, () => usageRow({})) };
  const everyMs = [serving('usage'), serving('keys'), { ...serving('usage'), usage: many }].map(usageEveryMs);
  assert.deepEqual(everyMs, [5_000, Number.POSITIVE_INFINITY, 30_000]);
});

describe('seconds', () => {
  const at = (...list: number[]) => list.map((atS) => second(NOW_S - atS));
  const ages = (list: readonly TrafficRow[]) => list.map(({ at_s: atS }) => NOW_S - atS);

  const cases: readonly (readonly [what: string, known: number[], fresh: number[], expected: number[]])[] = [
    ['come behind those that are known', [5, 4], [3, 2], [5, 4, 3, 2]],
    ['replace those that were not over yet', [5, 4, 3], [3, 2], [5, 4, 3, 2]],
    ['are all kept where nothing is new', [5, 4], [], [5, 4]],
    ['of another gateway come behind a gap', [200, 199], [2, 1], [200, 199, 2, 1]],
    ['are forgotten after five minutes', [301, 300, 299], [1], [300, 299, 1]],
    ['that are new are forgotten as well', [], [400, 3], [3]],
  ];
  for (const [what, known, fresh, expected] of cases) {
    test(what, () => assert.deepEqual(ages(withSeconds(at(...known), at(...fresh), NOW_MS)), expected));
  }

  test('that are fresh replace the known ones', () => {
    const [merged] = withSeconds([second(NOW_S, { requests: 1 })], [second(NOW_S, { requests: 7 })], NOW_MS);
    assert.equal(merged?.requests, 7);
  });

  test('are never duplicated, always in order, and bounded, whatever comes', () => {
    const ascending = fc
      .uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 100 })
      .map((list) => at(...list.toSorted((a, b) => b - a)));
    fc.assert(
      fc.property(fc.array(ascending, { maxLength: 6 }), (feeds) => {
        const merged = feeds.reduce<TrafficRow[]>((known, fresh) => withSeconds(known, fresh, NOW_MS), []);
        const list = ages(merged);
        assert.deepEqual(
          list,
          [...new Set(list)].toSorted((a, b) => b - a),
        );
        assert.ok(list.every((age) => age <= 300));
        const last = feeds.at(-1) ?? [];
        for (const each of last) assert.equal(merged.includes(each), NOW_S - each.at_s <= 300);
      }),
    );
  });
});
