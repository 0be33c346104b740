/** Usage beside that of a week earlier: who spends more than usual, and how much. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ComparedUsage, Model } from '../../src/tui/model.ts';
import { compared, isCompared } from '../../src/tui/store.ts';
import { after, keyId, letters, press, SNAPSHOT, screenText, serving, usageRow } from './samples.ts';

const USD = 1_000_000_000n;
const row = (number: number, key: string, usd: bigint) =>
  usageRow({ keyId: keyId(number), key, requests: 9, costNanos: usd * USD });

const now = [row(1, 'web-app', 30n), row(2, 'batch-jobs', 6n), row(3, 'laptop', 2n), row(4, 'fresh', 1n)];
const before = [row(1, 'web-app', 10n), row(2, 'batch-jobs', 4n), row(3, 'laptop', 2n), row(5, 'quiet', 8n)];

test('each row has what it cost then, also one that costs nothing any more', () => {
  assert.deepEqual(
    compared(now, before).map(({ key, requests, costNanos, beforeNanos }) => [key, requests, costNanos, beforeNanos]),
    [
      ['web-app', 9, 30n * USD, 10n * USD],
      ['batch-jobs', 9, 6n * USD, 4n * USD],
      ['laptop', 9, 2n * USD, 2n * USD],
      ['fresh', 9, USD, 0n],
      ['quiet', 0, 0n, 8n * USD],
    ],
  );
});

test('only ranges of a week at most are compared, and not by date', () => {
  assert.ok(isCompared('key', 'today', {}) && isCompared('model', '24h', {}) && isCompared('user', '7d', {}));
  assert.ok(!isCompared('key', 'this month', {}) && !isCompared('day', '7d', {}));
  assert.ok(!isCompared('key', 'today', { period: '2026-11-01' }));
});

describe('the view', () => {
  const shown = (rows: readonly ComparedUsage[]): Model =>
    after(serving('usage', SNAPSHOT, { columns: 120, rows: 24 }), { kind: 'usage', rows });

  test('has the week before beside it, and the change in percent', () => {
    const screen = screenText(shown(compared(now, before)));
    assert.match(screen, /COST \(USD\) +LAST WEEK +CHANGE$/m);
    for (const line of [
      /^web-app .* 30\.00 +10\.00 +\+200%$/m,
      /^batch-jobs .* 6\.00 +4\.00 +\+50%$/m,
      /^laptop .* 2\.00 +2\.00 +0%$/m,
      /^fresh .* 1\.00 +0\.00 +new$/m,
      /^quiet .* 0\.00 +8\.00 +-100%$/m,
      /^Total .* 39\.00 USD {2}24\.00 a week earlier {2}\+62%/m,
    ])
      assert.match(screen, line);
  });

  test('finds who spends twice as much as a week ago', () => {
    const { model } = press(shown(compared(now, before)), '/', ...letters('change>=100'), 'enter');
    assert.match(screenText(model), /web-app/);
    assert.doesNotMatch(screenText(model), /batch-jobs|quiet/);
  });

  test('has no such columns for ranges that are not compared', () => {
    assert.doesNotMatch(screenText(shown(now)), /LAST WEEK|week earlier/);
  });
});
