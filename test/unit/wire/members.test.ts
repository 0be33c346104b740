/** Locating the members of a JSON object in its text, and editing the text. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { readJson } from '../../../src/core/json.ts';
import { applyEdits, MAX_JSON_DEPTH, membersOf, NestingError, ObjectEditor } from '../../../src/wire/members.ts';
import { runs } from '../../support/at-length.ts';
import { randomObject } from './random-json.ts';

describe('the members of an object', () => {
  test('are found with their names and the exact bytes of their values, including duplicates', () => {
    fc.assert(
      fc.property(randomObject, ({ text, members }) => {
        const found = membersOf(text, 0);
        assert.deepEqual(
          found.map(({ key, valueStart, valueEnd }) => ({ key, value: text.slice(valueStart, valueEnd) })),
          members.map(({ key, value }) => ({ key: JSON.parse(key), value })),
        );
        for (const [index, { keyStart }] of found.entries()) {
          assert.ok(text.startsWith(members[index]?.key ?? 'none', keyStart));
        }
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('may contain quotes after any number of backslashes', () => {
    const text = String.raw`{"a\\":"\\\"}","b\"":"\\","c":1}`;
    assert.deepEqual(
      membersOf(text, 0).map(({ key, valueStart, valueEnd }) => [key, text.slice(valueStart, valueEnd)]),
      [
        ['a\\', String.raw`"\\\"}"`],
        ['b"', String.raw`"\\"`],
        ['c', '1'],
      ],
    );
  });

  test('may be nested up to the limit, and no deeper', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    assert.equal(membersOf(nested(MAX_JSON_DEPTH), 0).length, 1);
    assert.throws(() => membersOf(nested(MAX_JSON_DEPTH + 1), 0), NestingError);
  });
});

test('edits are applied in the order of their offsets, whatever order they are given in', () => {
  const edits = [
    { start: 7, end: 8, replacement: 'I' },
    { start: 0, end: 0, replacement: '>' },
    { start: 2, end: 5, replacement: '' },
  ];
  assert.equal(applyEdits('abcdefgh', edits), '>abfgI');
  assert.equal(applyEdits('abcdefgh', []), 'abcdefgh');
});

/** The paths of all objects within a value. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (readonly (string | number)[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const within = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, [...path, index]))
    : Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]));
  return Array.isArray(value) ? within : [path, ...within];
}

test('a member is set in any object within a text, as readJson reads it, and nothing else changes', () => {
  fc.assert(
    fc.property(randomObject, fc.nat(), fc.constantFrom('a', 'max_uses', ''), ({ text }, choice, key) => {
      const expected = readJson(text) as never;
      const paths = pathsOf(expected);
      const path = paths[choice % paths.length] as readonly string[];
      const object = path.reduce<Record<string, never>>((at, step) => at[step] as never, expected);
      Object.defineProperty(object, key, { value: 10, enumerable: true, writable: true, configurable: true });
      const edit = new ObjectEditor(text).set(path, key, '10');
      assert.deepEqual(readJson(applyEdits(text, [edit])), expected);
    }),
    { numRuns: runs(1_000) },
  );
});
