/** Files that are unpacked to be run as code: what is trusted, and what is not. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { cacheFolders, unpack } from '../../../src/core/private-cache.ts';

const NAME = 'hash/code.node';
const CONTENTS = Buffer.from('code');

describe('a private cache', () => {
  let top: string;
  let cache: string;
  beforeEach(() => {
    top = mkdtempSync(join(tmpdir(), 'inf-gw-cache-'));
    cache = join(top, 'cache');
  });
  afterEach(() => rmSync(top, { recursive: true }));

  test('keeps a file in folders that are closed to others, and leaves nothing else', () => {
    const path = unpack(join(cache, 'deep'), NAME, CONTENTS);
    assert.deepEqual(readdirSync(join(cache, 'deep')), ['hash']);
    for (const each of [path, join(path, '..'), join(cache, 'deep')]) assert.equal(statSync(each).mode & 0o077, 0);
  });

  test('does not replace a file that is there', () => {
    const path = unpack(cache, NAME, CONTENTS);
    const { ino } = statSync(path);
    assert.equal(unpack(cache, NAME, CONTENTS), path);
    assert.equal(statSync(path).ino, ino);
  });

  test('refuses a file that differs', () => {
    writeFileSync(unpack(cache, NAME, CONTENTS), 'cuda');
    assert.throws(() => unpack(cache, NAME, CONTENTS), /hash\/code\.node is not what inf-gw put there; remove/);
  });

  test('refuses a folder that is open to others', () => {
    mkdirSync(cache);
    chmodSync(cache, 0o755);
    assert.throws(() => unpack(cache, NAME, CONTENTS), /cache is open to other users/);
  });

  test('refuses a folder that others can rename', () => {
    chmodSync(top, 0o777);
    assert.throws(() => unpack(cache, NAME, CONTENTS), /other users can write to /);
    chmodSync(top, 0o1777);
    unpack(cache, NAME, CONTENTS);
  });

  test('refuses a link to where others can write', () => {
    const open = join(top, 'open');
    mkdirSync(join(open, 'cache'), { recursive: true, mode: 0o700 });
    chmodSync(open, 0o777);
    symlinkSync(join(open, 'cache'), cache);
    assert.throws(() => unpack(cache, NAME, CONTENTS), /other users can write to .*open$/);
  });

  test('is where XDG_CACHE_HOME says, then in the home, then among the temporary files', () => {
    const [first, second, third, ...others] = cacheFolders({ XDG_CACHE_HOME: '/cache' });
    assert.equal(first, '/cache/inf-gw');
    assert.match(second ?? '', /\/\.cache\/inf-gw$/);
    assert.match(third ?? '', /\/inf-gw-\d+$/);
    assert.deepEqual(others, []);
    assert.deepEqual(cacheFolders({ XDG_CACHE_HOME: 'not/absolute' }), [second, third]);
  });
});
