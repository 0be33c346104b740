/** A record that is laid out flat comes back as it was, and its values stand under the names of their columns. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Layout, names } from '../../../src/core/layout.ts';

interface Parcel {
  readonly sentTo: string;
  readonly costNanos: bigint;
  readonly weighed?: { readonly grams: number; readonly by: string | undefined } | undefined;
}

const PARCEL = new Layout<Parcel>({
  sentTo: 'text',
  costNanos: 'nanos',
  weighed: {
    grams: 'number',
    by: {
      column: 'weighed_by',
      type: 'text',
      flat: (by?: string) => by?.toUpperCase() ?? null,
      full: (by) => by ?? 'nobody',
    },
  },
});
const BARE: Parcel = { sentTo: 'Ada', costNanos: 0n, weighed: undefined };
const WHOLE: Parcel = { sentTo: '', costNanos: 5n, weighed: { grams: 0, by: 'Bob' } };

describe('a layout', () => {
  test('names its columns after the fields, but for those that have names of their own', () => {
    assert.equal(names(PARCEL.columns, 'p_'), 'p_sent_to, p_cost_nanos, p_grams, p_weighed_by');
    assert.deepEqual(
      PARCEL.columns.map(({ type }) => type),
      ['text', 'nanos', 'number', 'text'],
    );
  });

  test('has a value for each column, null where there is none', () => {
    assert.deepEqual(PARCEL.values(WHOLE), ['', 5n, 0, 'BOB']);
    assert.deepEqual(PARCEL.values(BARE), ['Ada', 0n, null, null]);
  });

  test('gives back the record, and no part of which it has no value', () => {
    assert.deepEqual(PARCEL.record(PARCEL.values(WHOLE)), { ...WHOLE, weighed: { grams: 0, by: 'BOB' } });
    assert.deepEqual(PARCEL.record(PARCEL.values(BARE)), BARE);
    assert.deepEqual(PARCEL.record(['', 0n, 7, null]).weighed, { grams: 7, by: 'nobody' });
  });
});
