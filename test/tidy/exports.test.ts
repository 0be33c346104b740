/** What a file exports is used: values by a file that imports it, types at least by their own. */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { sourcesIn } from '../support/sources.ts';

/** Files that are used in another way than by imports. */
const OTHERWISE_USED = [
  // Takes the place of a package in the bundle, and has its interface.
  'src/state/sqlite/unpacked-addon.ts',
  // bin/inf-gw.js finds it by its name in the built program.
  'src/cli/serve-main.ts',
  // The compiler reads its types for the census.
  'test/census/libraries.ts',
  // Writes a source file.
  'scripts/token-weights/make.ts',
];
const EXPORT = /^export (?:(interface|type)|(?:abstract |async )*(?:const|let|function\*?|class)) ([A-Za-z_$][\w$]*)/gm;
/** The path of a source file, wherever it stands: it may also be loaded by `import()`. */
const NAMED_FILE = /['"](\.{1,2}\/[^'"]+\.[jt]s)['"]/g;

const wordsIn = (text: string) => text.match(/[A-Za-z_$][\w$]*/g) ?? [];

test('nothing is exported that nobody imports', () => {
  const sources = sourcesIn('{src,test,scripts,bench,bin}/**/*.{ts,js}');
  /** The words of those that name a file. */
  const users = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    const words = wordsIn(text);
    for (const [, named = ''] of text.matchAll(NAMED_FILE)) {
      const target = join(dirname(path), named);
      const known = users.get(target) ?? new Set();
      for (const word of words) known.add(word);
      users.set(target, known);
    }
  }
  const unused = sources.flatMap(({ path, text }) =>
    [...text.matchAll(EXPORT)]
      .filter(([, type, name = '']) => {
        const isUsedHere = wordsIn(text).filter((word) => word === name).length > 1;
        return users.get(path)?.has(name) !== true && !(type !== undefined && isUsedHere);
      })
      .map(([, , name]) => `${path}: ${name}`),
  );
  assert.deepEqual(
    unused.filter((found) => !OTHERWISE_USED.some((path) => found.startsWith(path))),
    [],
  );
});
