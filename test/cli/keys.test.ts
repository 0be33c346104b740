/** The life of a key on the command line: shown once, rotated, deleted on confirmation. */
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { CONCURRENCY, CONFIG, inParallel, type KeyJson, linesOf, Workplace } from '../support/cli.ts';

describe('keys', { concurrency: CONCURRENCY }, () => {
  test('a key is printed exactly once, when it is created, and is in no file and no later output', async (t) => {
    const place = new Workplace(t);
    const created = await place.run(['keys', 'create', 'app']);
    assert.equal(created.status, 0, created.stderr);
    const found = `${created.stdout}${created.stderr}`.match(/sk-inf-[0-9A-Za-z]{40,}/g) ?? [];
    assert.equal(found.length, 1, 'once, on stdout or stderr');
    const key = found[0] ?? '';
    // `KEY=$(inf-gw keys create app)`
    assert.equal(created.stdout, `${key}\n`);
    assert.match(created.stderr, /^name +app$/m);

    const serving = await place.serveHere();
    assert.equal(await serving.chatOutcome(key), '200');
    assert.equal(await serving.chatOutcome(key, { model: 'mock/nothing' }), '404 model_not_found');
    const later = await inParallel(
      [
        ['keys', 'list'],
        ['keys', 'list', '--all', '--json'],
        ['keys', 'show', 'app'],
        ['keys', 'show', 'app', '--json'],
        ['limits', 'show', 'app'],
        ['usage', '--by', 'key', '--csv'],
        ['config', 'check'],
      ],
      (words) => place.run(words),
    );
    await serving.stop();
    const secret = key.slice('sk-inf-'.length);
    for (const { status, stdout, stderr } of later) {
      assert.equal(status, 0, stderr);
      assert.ok(!stdout.includes(secret) && !stderr.includes(secret));
    }
    assert.ok(!serving.text.includes(secret), 'not in the log');
    for (const file of readdirSync(place.directory)) assert.ok(!place.read(file).includes(secret), file);
  });

  test('`keys delete` says before how many keys go with it', async (t) => {
    const place = new Workplace(t);
    const { id } = await place.createKey('agent', '--may-create');
    const { database } = openDatabase(place.statePath);
    for (const name of ['one', 'two']) bookOf(database).keys.create(mintKey(), { name, parentId: id }, 0);
    database.close();
    const { stderr } = await place.run(['keys', 'delete', 'agent'], 'y\n');
    assert.equal(stderr, 'Delete key agent permanently? 2 keys that it has made go with it. (y/N) ');
    assert.deepEqual(await place.json('keys', 'list'), []);
  });

  test('`keys delete` asks on stderr, and only y or yes on stdin deletes', async (t) => {
    const place = new Workplace(t);
    const { id } = await place.createKey('app');
    for (const answer of ['', '\n', 'n\n', 'yep\n', 'no']) {
      const refused = await place.run(['keys', 'delete', 'app', '--json'], answer);
      assert.equal(refused.status, 1);
      assert.equal(refused.stdout, '');
      assert.match(refused.stderr, /^Delete key app .*\(y\/N\) \nerror: nothing was deleted; .*\n$/);
    }
    const deleted = await place.run(['keys', 'delete', 'app', '--json'], 'Y\n');
    assert.equal(deleted.status, 0, deleted.stderr);
    assert.match(deleted.stderr, /\(y\/N\)/);
    assert.equal((JSON.parse(deleted.stdout) as KeyJson).state, 'deleted');

    await place.createKey('app');
    const again = await place.run(['keys', 'delete', 'app'], 'yes');
    assert.equal(again.status, 0, 'an answer without a line break counts');
    const names = await place.json<KeyJson[]>('keys', 'list', '--all');
    assert.deepEqual(
      names.map(({ name, state }) => `${name} ${state}`),
      ['app deleted', 'app deleted'],
    );
    assert.equal((await place.json<KeyJson>('keys', 'show', id)).state, 'deleted');
  });

  test('a deleted key leaves the list, its name is free again, and its id and usage are kept', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const old = await place.createKey('app');
    assert.equal(await serving.chatOutcome(old.key), '200');
    const deleted = await place.run(['keys', 'delete', 'app', '--yes']);
    assert.equal(deleted.status, 0, deleted.stderr);
    assert.doesNotMatch(deleted.stderr, /y\/N/);
    assert.deepEqual(await place.json('keys', 'list'), []);

    const successor = await place.createKey('app');
    const [shown, byName, rows, ofOld, ofDeletedName] = await Promise.all([
      place.json<KeyJson>('keys', 'show', old.id),
      place.json<KeyJson>('keys', 'show', 'app'),
      place.json<Record<string, unknown>[]>('usage', '--by', 'key'),
      place.json<{ requests: number }[]>('usage', '--key', old.id),
      place.json<{ requests: number }[]>('usage', '--key', 'app'),
    ]);
    assert.equal(shown.state, 'deleted');
    assert.equal(shown.month.requests, 1);
    assert.equal(byName.id, successor.id);
    assert.deepEqual(
      rows.map(({ key, key_id, requests }) => ({ key, key_id, requests })),
      [{ key: 'app', key_id: old.id, requests: 1 }],
    );
    assert.equal(ofOld[0]?.requests, 1);
    assert.equal(ofDeletedName[0]?.requests, 0, 'the name means the key that bears it now');
    for (const verb of ['enable', 'disable', 'rotate']) {
      assert.equal((await place.run(['keys', verb, old.id])).status, 1, `${verb} does not bring a deleted key back`);
    }
  });

  test('`keys show` shows a group, too; what only a key has is refused to one, and nothing is deleted', async (t) => {
    const place = new Workplace(t);
    const group = await place.json('groups', 'create', 'research', '--rpm', '5');
    assert.deepEqual(await place.json('keys', 'show', '@research'), group);
    for (const words of [
      ['keys', 'show', '@research', '--refusals'],
      ['keys', 'delete', '@research', '--yes'],
      ['keys', 'rotate', '@research'],
      ['usage', '--key', '@research'],
    ]) {
      const refused = await place.run(words);
      assert.equal(refused.status, 1, words.join(' '));
      assert.match(refused.stderr, /^error: "@research" names a group, and here it takes a key; .*\n$/);
    }
    assert.deepEqual(await place.json('groups', 'show', '@research'), group);
  });

  test('what to run next is for the same installation', async (t) => {
    const place = new Workplace(t, null);
    place.write("the app's.yaml", CONFIG);
    const config = ['-c', "the app's.yaml"];
    await place.run(['keys', 'create', 'app', ...config]);
    const again = "inf-gw -c 'the app'\\''s.yaml'";
    for (const [words, hint] of [
      [['keys', 'rotate', 'app'], `run: ${again} keys disable app`],
      [['keys', 'list', '--limit', '1'], `More keys: ${again} keys list --limit 1 --after key_`],
      [['backup', 'copy.db'], `To put it back: ${again} restore ${place.directory}/copy.db`],
      [['credit', 'history'], `Add some with: ${again} credit add 10`],
    ] as const) {
      const { stdout, stderr } = await place.run([...words, ...config]);
      assert.ok(`${stdout}${stderr}`.includes(hint), stdout);
    }
  });

  test('rotation takes the next free name, and the old key works until it is disabled', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const first = await place.createKey('app', '--rpm', '50', '--spend-limit', '3', '--allow', 'mock/echo');
    await place.createKey('app-2');
    const next = await place.json<KeyJson & { key: string }>('keys', 'rotate', 'app');
    assert.equal(next.name, 'app-3');
    assert.equal(next.limits.rpm, 50);
    assert.equal(next.spend_limit_usd, '3.00');
    assert.deepEqual(next.allowlist, ['mock/echo']);
    assert.deepEqual(await Promise.all([first.key, next.key].map((key) => serving.chatOutcome(key))), ['200', '200']);
    await place.json('keys', 'disable', first.id);
    assert.equal(await serving.chatOutcome(first.key), '403 api_key_disabled');
    assert.equal(await serving.chatOutcome(next.key), '200');
  });

  test('whatever creates a state file prints its path, and only its owner can read it', async (t) => {
    const place = new Workplace(t);
    const first = await place.run(['credit', 'add', '1', '--json']);
    assert.deepEqual(linesOf(first.stderr), [`created the state file ${place.statePath}`]);
    assert.equal((await place.run(['keys', 'list'])).stderr, '');

    const serving = await place.serveHere();
    assert.ok(!serving.log.some(({ msg }) => msg.includes('created the state file')), 'only once');
    await place.createKey('app');
    const files = readdirSync(place.directory).filter((file) => file.startsWith('state.db'));
    for (const part of ['state.db', 'state.db-wal', 'state.db-shm']) assert.ok(files.includes(part), part);
    for (const file of files) assert.equal(statSync(join(place.directory, file)).mode & 0o777, 0o600, file);
  });

  test('commands that start at the same moment without a state file all succeed', async (t) => {
    const place = new Workplace(t);
    const names = ['a', 'b', 'c', 'd'];
    const results = await Promise.all(names.map((name) => place.runAlone(['keys', 'create', name])));
    for (const { status, stderr } of results) assert.equal(status, 0, stderr);
    const keys = await place.json<KeyJson[]>('keys', 'list');
    assert.deepEqual(keys.map(({ name }) => name).sort(), names);
  });
});
