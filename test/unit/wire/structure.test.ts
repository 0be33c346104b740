/** Measuring the depth and size of JSON without parsing it gives the same result as parsing it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { excessOf, MAX_JSON_PARTS } from '../../../src/wire/structure.ts';

/** Contexts in which one more level, or one more part, is one too many. */
const DEEP = ['['.repeat(200), ']'.repeat(200)] as const;
const RICH = ['[', `${',1'.repeat(MAX_JSON_PARTS - 2)}]`] as const;

const excess = (around: readonly [string, string], text: string) =>
  excessOf(Buffer.from(around[0] + text + around[1], 'utf8'));

test('brackets, quotes and commas within strings do not count, however they are escaped', () => {
  const anyString = fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', '}', ',', 'x', 'é', '\n') });
  fc.assert(
    fc.property(anyString, (value) => {
      const text = JSON.stringify(value);
      assert.equal(excess(DEEP, text), undefined);
      assert.equal(excess(DEEP, `${text},[]`), 'depth');
    }),
  );
  assert.equal(excess(RICH, JSON.stringify('"[,\\')), undefined);
  assert.equal(excess(RICH, `${JSON.stringify('"[,\\')},`), 'parts');
});

test('a text truncated anywhere is scanned to its end and no further', () => {
  const whole = Buffer.from(String.raw`{"a":["\\","\"",{"b":"c"}]}`);
  for (let length = 0; length <= whole.length; length++) assert.equal(excessOf(whole.subarray(0, length)), undefined);
});
