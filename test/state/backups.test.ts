/** Backups are of one moment and private, and leave nothing behind if they fail; a restore can be killed at any step. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { makeLargeState } from '../../bench/scale/large-state.ts';
import { audit } from '../../src/audit/audit.ts';
import { UserError } from '../../src/core/errors.ts';
import { backUp } from '../../src/state/sqlite/backup.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import type { CopyOptions } from '../../src/state/sqlite/draft.ts';
import { tryLockState } from '../../src/state/sqlite/lock.ts';
import { restore } from '../../src/state/sqlite/restore.ts';
import { contentsOf, edit, fill } from '../support/full-file.ts';

const CREDIT = 'INSERT INTO credit_entries (at_ms, amount_nanos, balance_nanos, note) VALUES (1, 1, 1, ?)';

function verify(path: string): Promise<void> {
  const differences = audit(path, { onProgress: () => {} }).flatMap((check) => check.differences);
  return differences.length === 0 ? Promise.resolve() : Promise.reject(new UserError(differences));
}

const OPTIONS: CopyOptions = { verify, onProgress: () => {}, signal: new AbortController().signal };
const RESTORE = { ...OPTIONS, confirm: () => Promise.resolve() };

const pattern = fs.mkdtempSync(join(tmpdir(), 'inf-gw-backups-'));
before(async () => {
  fill(join(pattern, 'state.db'));
  await backUp(join(pattern, 'state.db'), join(pattern, 'copy.db'), OPTIONS);
});
after(() => fs.rmSync(pattern, { recursive: true }));

/** A folder with a state that has something in everything, and a backup of it. */
function open(t: TestContext) {
  const folder = fs.mkdtempSync(join(tmpdir(), 'inf-gw-backups-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.cpSync(pattern, folder, { recursive: true });
  return { folder, state: join(folder, 'state.db'), backup: join(folder, 'copy.db') };
}

/** The names in a folder, without the lock of the state. */
function namesIn(folder: string): string[] {
  return fs.readdirSync(folder).filter((name) => !name.endsWith('-lock'));
}

/** Leaves the state as a killed process does: with a log that holds what it wrote last. */
function leaveLog(state: string): void {
  const { database } = openDatabase(state);
  // Changes one page, and not the first.
  database.exec("UPDATE credit_entries SET note = 'in the log'");
  const parts = ['', '-wal'].map((suffix) => ({ path: state + suffix, bytes: fs.readFileSync(state + suffix) }));
  database.close();
  for (const { path, bytes } of parts) fs.writeFileSync(path, bytes);
}

describe('a backup', () => {
  test('is of one moment and ends, though others commit after every step; private from the first byte', async (t) => {
    const { folder } = open(t);
    const [large, file] = [join(folder, 'large.db'), join(folder, 'large-copy.db')];
    makeLargeState(large, { keys: 3, rows: 20_000 }, () => {});
    const { database } = openDatabase(large);
    let last = 0;
    let steps = 0;
    const mask = process.umask(0);
    const size = await backUp(large, file, {
      ...OPTIONS,
      onProgress: (copied, of) => {
        steps += 1;
        assert.ok(copied >= last && copied <= of && steps < 10, 'it has begun anew');
        last = copied;
        assert.equal(fs.statSync(`${file}.partial-${process.pid}`).mode & 0o777, 0o600);
        database.prepare(CREDIT).run(`step ${steps}`);
      },
    });
    process.umask(mask);
    database.close();
    assert.ok(steps > 1, `${steps} steps`);
    assert.equal(size, fs.statSync(file).size);
    assert.equal(fs.statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(namesIn(folder).toSorted(), ['copy.db', 'large-copy.db', 'large.db', 'state.db']);
    const copy = openDatabase(file).database;
    const notes = copy.prepare('SELECT note FROM credit_entries').pluck().all();
    copy.close();
    assert.deepEqual(notes, ['to start with']);
  });

  test('takes no name that is taken, and leaves nothing behind when it fails', async (t) => {
    const { folder, state, backup } = open(t);
    const names = namesIn(folder);
    await assert.rejects(backUp(state, backup, OPTIONS), /copy\.db already exists; name a file that does not$/);
    const stopped = AbortSignal.abort(new UserError('interrupted'));
    const other = join(folder, 'other.db');
    await assert.rejects(backUp(state, other, { ...OPTIONS, signal: stopped }), /^UserError: interrupted$/);
    await assert.rejects(backUp(state, join(folder, 'no/copy.db'), OPTIONS), /ENOENT\): check the path/);
    assert.deepEqual(namesIn(folder), names);
    const meanwhile = async () => fs.writeFileSync(other, 'mine');
    await assert.rejects(backUp(state, other, { ...OPTIONS, verify: meanwhile }), /other\.db already exists/);
    assert.equal(fs.readFileSync(other, 'utf8'), 'mine');
    fs.rmSync(other);
    edit(state, (database) => database.exec('UPDATE account SET balance_nanos = balance_nanos + 1'));
    await assert.rejects(backUp(state, other, OPTIONS), /the balance is/);
    assert.deepEqual(namesIn(folder), names);
  });

  test('removes the draft of one that was killed, and not that of one that runs', async (t) => {
    const { folder, state } = open(t);
    // No process has so high an id; the first one always runs.
    for (const pid of [99_999_999, 1]) fs.writeFileSync(join(folder, `other.db.partial-${pid}`), '');
    await backUp(state, join(folder, 'other.db'), OPTIONS);
    assert.deepEqual(namesIn(folder).toSorted(), ['copy.db', 'other.db', 'other.db.partial-1', 'state.db']);
  });
});

/** What a kill leaves is what is in the folder at that moment: it loses nothing that was written. */
async function snapshots(t: TestContext, folder: string, work: () => Promise<unknown>): Promise<string[]> {
  const taken: string[] = [];
  const root = fs.mkdtempSync(join(tmpdir(), 'inf-gw-kills-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  let isTaking = false;
  const take = () => {
    if (isTaking) return;
    isTaking = true;
    const copy = join(root, String(taken.length));
    fs.cpSync(folder, copy, { recursive: true });
    taken.push(copy);
    isTaking = false;
  };
  const mocks = (['linkSync', 'renameSync', 'rmSync', 'fsyncSync', 'openSync'] as const).map((name) => {
    const original = fs[name] as (...words: unknown[]) => unknown;
    return t.mock.method(fs, name, (...words: unknown[]) => {
      const result = original(...words);
      take();
      return result;
    });
  });
  syncBuiltinESMExports();
  try {
    await work();
  } finally {
    for (const { mock } of mocks) mock.restore();
    syncBuiltinESMExports();
  }
  return taken;
}

describe('a restore', () => {
  for (const what of ['a state', 'a state with the log of a killed process', 'no state']) {
    test(`that is killed at any step leaves the old or the new one: ${what}`, async (t) => {
      const { folder, state, backup } = open(t);
      const restored = contentsOf(backup);
      if (what === 'a state') edit(state, (database) => database.exec(CREDIT.replace('?', "'later'")));
      else if (what === 'no state') fs.rmSync(state);
      else leaveLog(state);
      const looked = join(folder, 'looked');
      fs.mkdirSync(looked);
      for (const part of ['state.db', 'state.db-wal']) {
        if (fs.existsSync(join(folder, part))) fs.copyFileSync(join(folder, part), join(looked, part));
      }
      const old = what === 'no state' ? undefined : contentsOf(join(looked, 'state.db'));
      fs.rmSync(looked, { recursive: true });

      const taken = await snapshots(t, folder, () => restore(state, backup, RESTORE));
      const found = taken.map((copy) => {
        const path = join(copy, 'state.db');
        if (!fs.existsSync(path)) return 'missing';
        const contents = JSON.stringify(contentsOf(path));
        if (contents === JSON.stringify(restored)) return 'new';
        return contents === JSON.stringify(old) ? 'old' : 'neither';
      });
      // First the one, then the other, and nothing in between or after.
      const before = old === undefined ? 'missing' : 'old';
      assert.match(found.join(' '), new RegExp(`^(?:${before} )+new(?: new)*$`));
      assert.deepEqual(contentsOf(state), restored);
      assert.equal(fs.statSync(state).mode & 0o777, 0o600);
      const kept = namesIn(folder).find((name) => name.includes('.replaced-'));
      assert.deepEqual(kept && contentsOf(join(folder, kept)), old);
      // Nor does what a kill leaves behind block the next one.
      const copy = taken.at(-3) as string;
      await restore(join(copy, 'state.db'), join(copy, 'copy.db'), RESTORE);
      assert.deepEqual(contentsOf(join(copy, 'state.db')), restored);
    });
  }

  test('works when the state is damaged, and keeps it with its log', async (t) => {
    const { folder, state, backup } = open(t);
    const restored = contentsOf(backup);
    leaveLog(state);
    fs.writeFileSync(state, fs.readFileSync(state).fill(0xa5, 0, 4096));
    const log = fs.readFileSync(`${state}-wal`);
    fs.chmodSync(state, 0o644);
    const kept = await restore(state, backup, RESTORE);
    assert.ok(kept);
    assert.deepEqual(namesIn(folder).toSorted(), [
      'copy.db',
      'state.db',
      ...[kept, `${kept}-wal`].map((path) => path.slice(folder.length + 1)),
    ]);
    assert.ok(fs.readFileSync(`${kept}-wal`).equals(log));
    assert.equal(fs.readFileSync(kept)[0], 0xa5);
    assert.deepEqual(contentsOf(state), restored);
  });

  test('takes the log of a copy that was made by hand along, and leaves that copy as it is', async (t) => {
    const { folder, state } = open(t);
    const [copy, log] = [join(folder, 'by-hand.db'), join(folder, 'by-hand.db-wal')];
    leaveLog(state);
    fs.renameSync(state, copy);
    fs.renameSync(`${state}-wal`, log);
    fs.rmSync(`${state}-shm`, { force: true });
    const bytes = [copy, log].map((path) => fs.readFileSync(path));
    assert.equal(await restore(state, copy, RESTORE), undefined);
    assert.deepEqual(
      [copy, log].map((path) => fs.readFileSync(path)),
      bytes,
    );
    assert.match(String(contentsOf(state).credit_entries), /in the log/);
  });

  test('follows a symbolic link, and gives the new file to the owner of the old', async (t) => {
    const { folder, state, backup } = open(t);
    const link = join(folder, 'link.db');
    fs.symlinkSync(state, link);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) fs.chownSync(state, 1234, 1234);
    const { uid } = fs.statSync(state);
    const no = { ...RESTORE, confirm: () => Promise.reject(new UserError('no')) };
    await assert.rejects(restore(link, backup, no), /^UserError: no$/);
    assert.equal(fs.statSync(`${state}-lock`).uid, uid);
    await restore(link, backup, RESTORE);
    assert.ok(fs.lstatSync(link).isSymbolicLink());
    assert.deepEqual(
      [state, `${state}-lock`].map((path) => fs.statSync(path).uid),
      [uid, uid],
    );
    assert.deepEqual(contentsOf(link), contentsOf(backup));
  });

  test('refuses what it cannot use, and changes nothing', async (t) => {
    const { folder, state, backup } = open(t);
    const make = (name: string, bytes: string | Buffer) => {
      fs.writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    };
    const newer = make('newer.db', fs.readFileSync(backup));
    edit(newer, (database) => database.pragma('user_version = 99'));
    const hollow = make('hollow.db', fs.readFileSync(backup));
    edit(hollow, (database) => database.exec('UPDATE account SET balance_nanos = balance_nanos + 1'));
    const linked = join(folder, 'linked.db');
    fs.linkSync(state, linked);
    const lost = join(folder, 'lost.db');
    fs.symlinkSync(join(folder, 'unmounted/state.db'), lost);
    const [original, names] = [fs.readFileSync(state), namesIn(folder)];
    const refused: readonly (readonly [state: string, backup: string, message: RegExp])[] = [
      [state, join(folder, 'none.db'), /no file at \S+none\.db; name a backup$/],
      [state, folder, /is not a file; name a backup$/],
      [state, linked, /linked\.db is the state file itself; name a backup of it$/],
      [state, make('empty.db', ''), /empty\.db is not an inf-gw state file; use another backup$/],
      [state, make('words.db', 'words, and no database'), /words\.db is damaged, or not an inf-gw state file/],
      [state, newer, /newer\.db was written by a newer inf-gw \(schema version 99; .*: update inf-gw$/],
      [state, hollow, /the balance is/],
      [lost, backup, /lost\.db is a symbolic link to a file that does not exist; mount its disk/],
    ];
    for (const [path, file, message] of refused) await assert.rejects(restore(path, file, RESTORE), message);
    const lock = tryLockState(state);
    await assert.rejects(restore(state, backup, RESTORE), /a gateway is running on \S+state\.db; stop it first$/);
    lock?.release();
    const busy = tryLockState(backup);
    await assert.rejects(restore(state, backup, RESTORE), /a gateway is running on \S+copy\.db, so it is not a backup/);
    busy?.release();
    for (const name of ['empty.db', 'words.db']) fs.rmSync(join(folder, name));
    assert.ok(fs.readFileSync(state).equals(original));
    assert.deepEqual(namesIn(folder), names);
  });

  test('is refused while another program has the state open', async (t) => {
    const { folder, state, backup } = open(t);
    const names = namesIn(folder);
    const { database } = openDatabase(state);
    await assert.rejects(
      restore(state, backup, RESTORE),
      /another program has \S+state\.db open; end it and try again$/,
    );
    database.prepare(CREDIT).run('still here');
    database.close();
    assert.deepEqual(namesIn(folder), names);
    assert.match(String(contentsOf(state).credit_entries), /still here/);
  });
});
