/**
 * A user who owns the folder of a state gets nothing by commands that root runs in it: links there lead to no file elsewhere, and
 * what is made there is that user's. Whoever runs this; only root can hand a folder to another.
 */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { CONFIG, runNode } from '../support/cli.ts';
import { copyForOthers } from '../support/program-copy.ts';

const isRoot = process.getuid?.() === 0;
/** No such user need exist. */
const OWNER = isRoot ? 61_234 : (process.getuid?.() as number);

const copy = fs.mkdtempSync('/tmp/inf-gw-program-');
after(() => fs.rmSync(copy, { recursive: true }));
const PROGRAM = copyForOthers(copy);

/** A folder with a config, in which `state` belongs to the other user, and `elsewhere` does not. */
class Site {
  /** Not in the folder of the tests, which is closed to others. */
  readonly directory = fs.mkdtempSync('/tmp/inf-gw-folder-');
  readonly state = join(this.directory, 'state/state.db');
  readonly elsewhere = join(this.directory, 'elsewhere');

  constructor(t: TestContext) {
    t.after(() => fs.rmSync(this.directory, { recursive: true }));
    fs.chmodSync(this.directory, 0o755);
    fs.writeFileSync(join(this.directory, 'config.yaml'), CONFIG.replace('./state.db', './state/state.db'));
    fs.mkdirSync(this.elsewhere, { mode: 0o755 });
    fs.writeFileSync(join(this.elsewhere, 'file'), 'of root', { mode: 0o644 });
    fs.mkdirSync(join(this.directory, 'state'), { mode: 0o700 });
    this.giveAway('state');
  }

  giveAway(name: string): void {
    if (isRoot) fs.lchownSync(join(this.directory, name), OWNER, OWNER);
  }

  link(suffix: string, target: string): void {
    fs.symlinkSync(join(this.elsewhere, target), this.state + suffix);
    this.giveAway(`state/state.db${suffix}`);
  }

  run(...words: string[]) {
    return runNode([PROGRAM, ...words], { directory: this.directory });
  }

  /** Everything that a command could have changed there. */
  look() {
    return fs.readdirSync(this.elsewhere).map((name) => {
      const path = join(this.elsewhere, name);
      const { mode, uid, gid } = fs.statSync(path);
      return { name, mode, uid, gid, bytes: fs.readFileSync(path, 'hex').slice(0, 100) };
    });
  }
}

/** What the user links to another file, and the command that would have worked on that. */
const LINKS: readonly (readonly [suffix: string, target: string, ...words: string[]])[] = [
  ['', 'new', 'keys', 'create', 'app'],
  ['', 'new', 'restore', 'copy.db', '--yes'],
  ['-lock', 'new', 'restore', 'copy.db', '--yes'],
  ['-lock', 'file', 'restore', 'copy.db', '--yes'],
  ['-lock', 'new', 'serve'],
  ['-lock', 'file', 'serve'],
  ['-wal', 'file', 'keys', 'create', 'app'],
  ['-shm', 'file', 'keys', 'create', 'app'],
  ['-journal', 'file', 'audit'],
  ['.restoring', 'file', 'restore', 'copy.db', '--yes'],
];

for (const [suffix, target, ...words] of LINKS) {
  test(`${words.slice(0, 2).join(' ')} works on no ${target} file elsewhere that state.db${suffix} leads to`, async (t) => {
    const site = new Site(t);
    assert.equal((await site.run('credit', 'add', '1')).status, 0);
    assert.equal((await site.run('backup', 'state/copy.db')).status, 0);
    fs.renameSync(join(site.directory, 'state/copy.db'), join(site.directory, 'copy.db'));
    if (isRoot) fs.chownSync(join(site.directory, 'copy.db'), 0, 0);
    if (suffix === '') fs.rmSync(site.state);
    else fs.rmSync(site.state + suffix, { force: true });
    site.link(suffix, target);
    const before = site.look();
    const { status, stderr } = await site.run(...words);
    assert.deepEqual(site.look(), before, stderr);
    // What a restore has left there is removed, and that is the link.
    assert.equal(status, suffix === '.restoring' ? 0 : 1, stderr);
    if (status === 1) assert.match(stderr, /is a symbolic link/);
  });
}

test('what root makes in a folder of another user is of that user, also what a gateway and a restore make', async (t) => {
  const site = new Site(t);
  for (const words of [
    ['keys', 'create', 'app'],
    ['backup', 'state/copy.db'],
    ['restore', 'state/copy.db', '--yes'],
    ['keys', 'disable', 'app'],
  ]) {
    const { status, stderr } = await site.run(...words);
    assert.equal(status, 0, stderr);
  }
  const folder = join(site.directory, 'state');
  const names = fs.readdirSync(folder);
  assert.ok(names.includes('state.db') && names.includes('state.db-lock'), String(names));
  for (const name of names) assert.equal(fs.statSync(join(folder, name)).uid, OWNER, name);
});

test('a backup that only root can read is restored into the folder of another user', async (t) => {
  const site = new Site(t);
  assert.equal((await site.run('credit', 'add', '7')).status, 0);
  assert.equal((await site.run('backup', 'state/copy.db')).status, 0);
  const backups = join(site.directory, 'backups');
  fs.mkdirSync(backups, { mode: 0o700 });
  fs.copyFileSync(join(site.directory, 'state/copy.db'), join(backups, 'copy.db'));
  fs.chmodSync(join(backups, 'copy.db'), 0o600);
  assert.equal((await site.run('credit', 'remove', '7')).status, 0);
  const { status, stderr } = await site.run('restore', 'backups/copy.db', '--yes');
  assert.equal(status, 0, stderr);
  assert.match((await site.run('credit', 'show', '--json')).stdout, /"balance_usd": ?"7\.00"/);
});
