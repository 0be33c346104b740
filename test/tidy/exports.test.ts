/** What a file exports is used: values by another file, types at least by their own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sourcesIn } from '../support/sources.ts';

/** Takes the place of a package in the bundle, and has its interface. */
const STAND_IN = 'src/state/sqlite/unpacked-addon.ts';
const EXPORT = /^export (?:(interface|type)|(?:abstract |async )*(?:const|let|function\*?|class)) ([A-Za-z_$][\w$]*)/gm;

const wordsIn = (text: string) => text.match(/[A-Za-z_$][\w$]*/g) ?? [];

test('nothing is exported that nobody imports', () => {
  const sources = sourcesIn('{src,test,scripts,bench,bin}/**/*.{ts,js}');
  const files = new Map<string, number>();
  for (const { text } of sources) {
    for (const word of new Set(wordsIn(text))) files.set(word, (files.get(word) ?? 0) + 1);
  }
  const unused = sources.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORT)]
      .filter(([, type, name = '']) => {
        const isUsedHere = wordsIn(text).filter((word) => word === name).length > 1;
        return files.get(name) === 1 && !(type !== undefined && isUsedHere);
      })
      .map(([, , name]) => `${path}: ${name}`),
  );
  assert.deepEqual(
    unused.filter((found) => !found.startsWith(STAND_IN)),
    [],
  );
});
