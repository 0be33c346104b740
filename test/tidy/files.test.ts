/** How every file of the project looks: it says what it is for, and it leaves nothing to be done. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { projectFile, sourcesIn } from '../support/sources.ts';

const files = ['src', 'test', 'bench'].flatMap((folder) => sourcesIn(`${folder}/**/*.ts`));
const pathsWhere = (fault: (text: string) => boolean) =>
  files.filter(({ text }) => fault(text)).map(({ path }) => path);

describe('every source file', () => {
  test('is looked at by these tests', () => {
    assert.ok(files.length > 50);
  });

  test('opens with a sentence on what it is for', () => {
    assert.deepEqual(
      pathsWhere((text) => !/^\/\*\* \S[^\n]*[^\n.]\. ?[^\n]*\*\/\n|^\/\*\*\n \* \S/.test(text)),
      [],
    );
  });

  test('leaves no note of something still to be done', () => {
    // Spelled so that this file has none either.
    const notes = new RegExp(['TO DO', 'FIX ME', 'X XX'].map((note) => `\\b${note.replace(' ', '')}\\b`).join('|'));
    assert.deepEqual(
      pathsWhere((text) => notes.test(text)),
      [],
    );
  });
});

for (const path of ['package-lock.json', 'bench/peers/package-lock.json']) {
  describe(path, () => lockFileTests(path));
}

function lockFileTests(lockPath: string): void {
  const lock = JSON.parse(projectFile(lockPath)) as { packages: Record<string, Record<string, unknown>> };

  test('fixes what is installed by its hash, and leaves open where it comes from', () => {
    for (const [path, entry] of Object.entries(lock.packages)) {
      assert.equal('resolved' in entry, false, path);
      if (path !== '') assert.match(String(entry.integrity), /^sha512-/, path);
    }
  });

  test('names no host', () => {
    // Where its authors would like to be paid is no source of a package.
    const entries = Object.entries(lock.packages).map(([path, { funding: _, ...entry }]) => [path, entry]);
    assert.doesNotMatch(JSON.stringify(entries), /https?:|:\/\//);
  });
}
