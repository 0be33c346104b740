/**
 * The check that the state file is in place: whatever happens to its path is a storage error that
 * expected what to do.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
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

for (const [what, change, expected] of CHANGES) {
  test(`a storage error is thrown if ${what}`, (t) => {
    const home = mkdtempSync(join(tmpdir(), 'inf-gw-place-'));
    t.after(() => rmSync(home, { recursive: true }));
    const folder = join(home, 'state');
    mkdirSync(folder);
    for (const name of ['s.db', 's.db-wal', 's.db-shm', 's.db-lock']) writeFileSync(join(folder, name), '');
    const file = new StateFile(join(folder, 's.db'));
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
