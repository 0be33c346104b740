/** What comes to the screen by itself: snapshots, the end of the gateway, messages, time, and the size of the window. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { SecondRow } from '../../src/control/protocol.ts';
import { withSeconds } from '../../src/tui/update/step.ts';
import { after, alone, NOW_MS, press, SNAPSHOT, STORED, second, serving } from './samples.ts';

const NOW_S = NOW_MS / 1_000;

describe('a message', () => {
  const told = after(alone(), { kind: 'outcome', text: 'Done.', tone: 'good' });

  test('stays for six seconds, and goes', () => {
    assert.equal(after(told, { kind: 'tick', nowMs: NOW_MS + 6_000 }).message?.text, 'Done.');
    assert.equal(after(told, { kind: 'tick', nowMs: NOW_MS + 6_001 }).message, undefined);
  });

  test('goes by the time of a gateway as well', () => {
    const later = { ...SNAPSHOT, now_ms: NOW_MS + 7_000 };
    assert.equal(after(told, { kind: 'snapshot', snapshot: later }).message, undefined);
  });

  test('gives way to the next one, which has its own time', () => {
    const next = after(told, { kind: 'tick', nowMs: NOW_MS + 5_000 }, { kind: 'outcome', text: 'No.', tone: 'bad' });
    const later = after(next, { kind: 'tick', nowMs: NOW_MS + 7_000 });
    assert.deepEqual(later.message, { text: 'No.', tone: 'bad', untilMs: NOW_MS + 11_000 });
  });

  test('stays while keys are pressed', () => {
    assert.equal(press(told, '2', 'down', '?').model.message?.text, 'Done.');
  });
});

describe('the gateway', () => {
  test('is shown once it is there', () => {
    const model = serving();
    assert.deepEqual(model.snapshot, SNAPSHOT);
    assert.equal(model.wasConnected, true);
    assert.equal(model.nowMs, SNAPSHOT.now_ms);
  });

  test('leaves its seconds behind when it goes', () => {
    const model = after(serving(), { kind: 'disconnected' });
    assert.equal(model.snapshot, undefined);
    assert.equal(model.seconds.length, 240);
  });

  test('takes nothing of what is being typed', () => {
    const typing = press(alone('keys'), 'n', 'a', 'b').model;
    const model = after(typing, { kind: 'snapshot', snapshot: SNAPSHOT }, { kind: 'stored', stored: STORED });
    assert.deepEqual(model.dialog, typing.dialog);
  });
});

test('a new size changes nothing but the size', () => {
  const model = serving('keys');
  assert.deepEqual(after(model, { kind: 'resize', columns: 200, rows: 60 }), { ...model, columns: 200, rows: 60 });
});

test('figures of Usage replace those that were there', () => {
  assert.deepEqual(after(serving('usage'), { kind: 'usage', rows: [] }).usage.rows, []);
});

describe('seconds', () => {
  const at = (...list: number[]) => list.map((atS) => second(NOW_S - atS));
  const ages = (list: readonly SecondRow[]) => list.map(({ at_s: atS }) => NOW_S - atS);

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

  test('that are new count, not those they replace', () => {
    const [merged] = withSeconds([second(NOW_S, { requests: 1 })], [second(NOW_S, { requests: 7 })], NOW_MS);
    assert.equal(merged?.requests, 7);
  });

  test('are never twice there, always in order, and bounded, whatever comes', () => {
    const ascending = fc
      .uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 100 })
      .map((list) => at(...list.toSorted((a, b) => b - a)));
    fc.assert(
      fc.property(fc.array(ascending, { maxLength: 6 }), (feeds) => {
        const merged = feeds.reduce<SecondRow[]>((known, fresh) => withSeconds(known, fresh, NOW_MS), []);
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
