/** Who can change what a path leads to, and what root does about it. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { UserError } from '../../../src/core/errors.ts';
import {
  becomeOwner,
  isInMap,
  refuseForeign,
  type UserOfProcess,
  usersOnTheWay,
} from '../../../src/core/folder-owner.ts';

const isRoot = process.getuid?.() === 0;
/** Only root can give a folder to others; anybody else has folders that are not root's. */
const OWNER = isRoot ? 61_234 : (process.getuid?.() as number);

function open(t: TestContext): string {
  const folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'inf-gw-owner-')));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.mkdirSync(join(folder, 'theirs'));
  if (isRoot) fs.chownSync(join(folder, 'theirs'), OWNER, OWNER);
  return folder;
}

/** A process of root's, and what it has become. */
function rootProcess(): { readonly user: UserOfProcess; readonly calls: unknown[][] } {
  const calls: unknown[][] = [];
  const note =
    (name: string) =>
    (...words: unknown[]) =>
      void calls.push([name, ...words]);
  const names = ['seteuid', 'setuid', 'setgid', 'setgroups', 'initgroups'];
  return { user: { getuid: () => 0, ...Object.fromEntries(names.map((name) => [name, note(name)])) }, calls };
}

test('the owners of all folders and links on the way can change what a path leads to', (t) => {
  const folder = open(t);
  const others = usersOnTheWay(join(folder, 'x'));
  const behind = join(folder, 'theirs/inner/state.db');
  fs.mkdirSync(join(folder, 'theirs/inner'));
  fs.writeFileSync(behind, '');
  fs.symlinkSync('theirs/inner', join(folder, 'relative'));
  fs.symlinkSync(join(folder, 'theirs/../theirs/inner'), join(folder, 'absolute'));
  const expected = [...new Set([...others, OWNER])].toSorted();
  for (const path of [
    'theirs/state.db',
    'theirs/new/state.db',
    'theirs/inner/state.db',
    'relative/state.db',
    'absolute/state.db',
  ]) {
    assert.deepEqual(usersOnTheWay(join(folder, path)).toSorted(), expected, path);
  }
});

test('a link in a circle ends, and what is missing belongs to nobody', (t) => {
  const folder = open(t);
  fs.symlinkSync('circle', join(folder, 'circle'));
  assert.deepEqual(usersOnTheWay(join(folder, 'circle/state.db')), usersOnTheWay(folder));
  assert.deepEqual(usersOnTheWay(join(folder, 'none/state.db')), usersOnTheWay(folder));
});

test('whom a container does not know decides about all of it anyway', () => {
  const rows: readonly (readonly [uid: number, map: string, isKnown: boolean])[] = [
    [61_234, '', true],
    [61_234, '         0          0 4294967295\n', true],
    [65_534, '         0      61234          1\n', false],
    [1000, '0 1000 1\n1 100000 65535\n', true],
    [65_536, '0 1000 1\n1 100000 65535\n', false],
  ];
  for (const [uid, map, isKnown] of rows) assert.equal(isInMap(uid, map), isKnown, `${uid} in ${map}`);
});

test('root becomes the user who owns the folder: groups first, the user last and for good', (t) => {
  const { user, calls } = rootProcess();
  becomeOwner(join(open(t), 'theirs/state.db'), user);
  assert.deepEqual(calls.slice(0, 2), [
    ['seteuid', OWNER],
    ['seteuid', 0],
  ]);
  assert.equal(calls[2]?.[0], 'setgid');
  assert.match(String(calls[3]?.[0]), /^(setgroups|initgroups)$/);
  assert.deepEqual(calls.slice(4), [['setuid', OWNER]]);
});

test('root stays root where all is its own, and everybody else stays as well', (t) => {
  const { user, calls } = rootProcess();
  becomeOwner('/etc/state.db', user);
  becomeOwner(join(open(t), 'theirs/state.db'), { ...user, getuid: () => OWNER });
  assert.deepEqual(calls, []);
});

test('where it cannot become that user, or must not, root is told what to type', (t) => {
  const path = join(open(t), 'theirs/state.db');
  const { user } = rootProcess();
  const fails = {
    ...user,
    setuid: () => {
      throw Object.assign(new Error('no'), { code: 'EPERM' });
    },
  };
  const says = new RegExp(`user ${OWNER} decides what is in the folder of \\S+; .*type: sudo -u '#${OWNER}' inf-gw`);
  for (const act of [() => becomeOwner(path, fails), () => refuseForeign(path, user)]) {
    assert.throws(act, (error) => error instanceof UserError && says.test(error.message));
  }
});
