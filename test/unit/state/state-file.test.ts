/**
 * The check that the state file is in place: whatever happens to its path is a storage error that
 * expected what to do.
 */
import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { StateFile, StateFileError } from '../../../src/state/sqlite/state-file.ts';
import { isStorageError } from '../../../src/state/sqlite/storage-errors.ts';

/** What happens to the directory, and the message about it. */
const CHANGES: readonly (readonly [what: string, change: (folder: string) => void, expected: RegExp])[] = [
  ['the file is gone', (folder) => unlinkSync(join(folder, 's.db')), /s\.db is gone: if it was moved, move it back/],
  ['its log is gone', (folder) => unlinkSync(join(folder, 's.db-wal')), /s\.db-wal is gone/],
  [
    'the index of its log is gone',
    (folder) => unlinkSync(join(folder, 's.db-shm')),
    /s\.db-shm is gone: .*otherwise restart/,
  ],
  ['its lock is gone', (folder) => unlinkSync(join(folder, 's.db-lock')), /s\.db-lock is gone: .*otherwise restart/],
  ['the folder is gone', (folder) => renameSync(folder, `${folder}-away`), /s\.db is gone/],
  [
    'another file is there',
    (folder) => {
      writeFileSync(join(folder, 'other'), '');
      renameSync(join(folder, 'other'), join(folder, 's.db'));
    },
    /another file has replaced .*s\.db/,
  ],
  [
    'the folder leads in a circle',
    (folder) => {
      renameSync(folder, `${folder}-away`);
      symlinkSync(folder, folder);
    },
    /s\.db cannot be reached \(ELOOP\): check the permissions of its directory/,
  ],
];

/** By that clock a folder that was made just now has been quiet for long. */
const later = () => Date.now() + 60_000;

/** A folder with a state file and all that belongs to it. What happens in it from now on gets a later time. */
function makeFolder(t: TestContext): string {
  const home = mkdtempSync(join(tmpdir(), 'inf-gw-place-'));
  t.after(() => rmSync(home, { recursive: true }));
  const folder = join(home, 'state');
  mkdirSync(folder);
  for (const name of ['s.db', 's.db-wal', 's.db-shm', 's.db-lock']) writeFileSync(join(folder, name), '');
  const tick = join(home, 'tick');
  do writeFileSync(tick, '');
  while (fs.statSync(tick).ctimeMs <= fs.statSync(folder).ctimeMs);
  return folder;
}

for (const [what, change, expected] of CHANGES) {
  for (const [where, wallMs] of [
    ['a folder that has just changed', Date.now],
    ['a quiet folder', later],
  ] as const) {
    test(`in ${where}, a storage error is thrown if ${what}`, (t) => {
      const folder = makeFolder(t);
      const file = new StateFile(join(folder, 's.db'), wallMs);
      assert.doesNotThrow(() => file.assertInPlace());
      assert.ok(file.isInPlace);
      change(folder);
      assert.ok(!file.isInPlace);
      assert.throws(
        () => file.assertInPlace(),
        (error) => error instanceof StateFileError && isStorageError(error) && expected.test(error.message),
      );
    });
  }
}

test('a state file behind a link is looked for where it is, in a quiet folder as well', (t) => {
  const folder = makeFolder(t);
  const elsewhere = join(folder, '..', 'elsewhere');
  const file = new StateFile(join(folder, 's.db'), later);
  assert.ok(file.isInPlace);
  renameSync(join(folder, 's.db'), elsewhere);
  symlinkSync(elsewhere, join(folder, 's.db'));
  assert.ok(file.isInPlace);
  unlinkSync(elsewhere);
  assert.ok(!file.isInPlace);
});

test('a folder that was quiet for long is looked at alone, but once a second, also when the clock is set back', (t) => {
  const folder = makeFolder(t);
  const looked = t.mock.method(fs, 'statSync');
  syncBuiltinESMExports();
  t.after(() => {
    looked.mock.restore();
    syncBuiltinESMExports();
  });
  let wallMs = Date.now();
  const file = new StateFile(join(folder, 's.db'), () => wallMs);
  const pathsLookedAt = () => {
    const before = looked.mock.callCount();
    file.assertInPlace();
    return looked.mock.calls.slice(before).map(({ arguments: [path] }) => path);
  };
  const all = [folder, ...['', '-wal', '-shm', '-lock'].map((suffix) => join(folder, `s.db${suffix}`))];
  assert.deepEqual([pathsLookedAt(), pathsLookedAt()], [all, all]);
  wallMs += 60_000;
  assert.deepEqual([pathsLookedAt(), pathsLookedAt()], [all, [folder]]);
  wallMs += 1_000;
  assert.deepEqual([pathsLookedAt(), pathsLookedAt()], [all, [folder]]);
  wallMs -= 30_000;
  assert.deepEqual([pathsLookedAt(), pathsLookedAt()], [all, [folder]]);
  writeFileSync(join(folder, 'other'), '');
  assert.deepEqual(pathsLookedAt(), all);
});
