/** The life of a key on the command line: shown once, rotated, deleted on confirmation, and listed in pages. */
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
    assert.equal(stderr, 'Delete key agent permanently? Its 2 child keys are deleted, too. (y/N) \n');
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

  test('the successor of a disabled key is enabled, and the old one is not said to work', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    assert.match((await place.run(['keys', 'rotate', 'app'])).stderr, /^The old key is still enabled\./m);
    await place.json('keys', 'disable', 'app');
    assert.match(
      (await place.run(['keys', 'rotate', 'app'])).stderr,
      /^state +enabled$.*^The old key stays disabled\.$/ms,
    );
  });

  test('whatever puts an enabled key into a disabled group says that it is refused', async (t) => {
    const place = new Workplace(t);
    await place.json('groups', 'create', 'outer');
    await place.json('groups', 'create', 'inner', '--in', '@outer');
    await place.createKey('app');
    await place.json('keys', 'disable', '@outer');
    for (const [subject, ...words] of [
      ['app is', 'keys', 'move', 'app', '--to', '@inner', '--json'],
      ['app-2 is', 'keys', 'rotate', 'app'],
      ['new is', 'keys', 'create', 'new', '--in', '@outer', '--json'],
      ['all keys in @inner are', 'keys', 'enable', '@inner'],
    ] as const) {
      const { stderr } = await place.run(words);
      const note = `note: ${subject} refused until @outer is enabled: inf-gw keys enable @outer`;
      assert.equal(linesOf(stderr).at(-1), note);
    }
    assert.match((await place.run(['groups', 'list'])).stdout, /^inner +outer +disabled by @outer /m);
    assert.match((await place.run(['groups', 'show', '@inner'])).stdout, /^state +disabled by @outer$/m);
    const { stderr } = await place.run(['keys', 'move', 'app', '--to', 'none']);
    assert.equal(stderr, '');
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

const NO_LIMITS = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };
/** More than a table shows without --limit. */
const MANY = 203;

/** Creates keys named k1, k2, …, a millisecond apart, and returns their ids. */
function makeKeys(place: Workplace, count: number): string[] {
  const { database } = openDatabase(place.statePath);
  const keys = bookOf(database).keys;
  const ids = Array.from({ length: count }, (_, i) => {
    const change = keys.create(mintKey(), { ...NO_LIMITS, name: `k${i + 1}` }, 1_700_000_000_000 + i);
    assert.ok(change.kind === 'done');
    return change.key.id;
  });
  database.close();
  return ids;
}

/** The names in a table of keys. */
const namesIn = (table: string) => linesOf(table).flatMap((line) => /^(k\d+) /.exec(line)?.[1] ?? []);
const names = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => `k${first + i}`);

describe('`keys list`', { concurrency: CONCURRENCY }, () => {
  for (const limit of [2, 3, 6, 7]) {
    test(`in pages of ${limit} is the whole list, in its order, without gaps or repeats`, async (t) => {
      const place = new Workplace(t);
      makeKeys(place, 7);
      await place.run(['keys', 'delete', 'k4', '--yes']);
      for (const all of [[], ['--all']]) {
        const whole = await place.json<KeyJson[]>('keys', 'list', ...all);
        assert.equal(whole.length, all.length === 0 ? 6 : 7);
        const pages: KeyJson[][] = [];
        let after: string[] = [];
        do {
          const page = await place.json<KeyJson[]>('keys', 'list', '--limit', `${limit}`, ...after, ...all);
          assert.ok(page.length <= limit);
          pages.push(page);
          after = ['--after', page.at(-1)?.id ?? ''];
        } while (pages.at(-1)?.length === limit);
        assert.deepEqual(pages.flat(), whole);
      }
    });
  }

  test('in pages has every key that exists throughout exactly once, though others are created and deleted meanwhile', async (t) => {
    const place = new Workplace(t);
    makeKeys(place, 8);
    const page = (...words: string[]) => place.json<KeyJson[]>('keys', 'list', '--limit', '3', ...words);
    const first = await page();
    // One already listed, the one that the next page starts after, and one not yet listed.
    const changes = [['k1'], ['k3'], ['k5']].map(([name = '']) => ['keys', 'delete', name, '--yes']);
    await place.runAll([...changes, ['keys', 'create', 'late'], ['keys', 'create', 'k3']]);
    const second = await page('--after', first.at(-1)?.id ?? '');
    await place.run(['keys', 'delete', second.at(-1)?.id ?? '', '--yes']);
    const third = await page('--after', second.at(-1)?.id ?? '');
    const shown = [first, second, third].map((keys) => keys.map(({ name }) => name));
    assert.deepEqual(shown.slice(0, 2), [names(1, 3), ['k4', 'k6', 'k7']]);
    assert.deepEqual(shown[2]?.toSorted(), ['k3', 'k8', 'late']);
    assert.equal(third[0]?.name, 'k8');
  });

  test('takes the name of a key in place of its id, also of a deleted one', async (t) => {
    const place = new Workplace(t);
    makeKeys(place, 4);
    await place.run(['keys', 'delete', 'k2', '--yes']);
    const [behind, behindDeleted, last, unknown] = await place.runAll([
      ['keys', 'list', '--after', 'k1', '--json'],
      ['keys', 'list', '--after', 'k2', '--json'],
      ['keys', 'list', '--after', 'k4'],
      ['keys', 'list', '--after', 'nobody'],
    ]);
    const shown = (text = '') => (JSON.parse(text) as KeyJson[]).map(({ name }) => name);
    assert.deepEqual(shown(behind?.stdout), ['k3', 'k4']);
    assert.deepEqual(shown(behindDeleted?.stdout), ['k3', 'k4']);
    assert.match(last?.stdout ?? '', /^No keys after k4\.\n$/);
    assert.deepEqual([unknown?.status, unknown?.stdout], [1, '']);
    assert.match(unknown?.stderr ?? '', /^error: no such key: "nobody"/);
  });

  test(`of ${MANY} keys is complete as JSON, and as a table ends with the command for the next page`, async (t) => {
    const place = new Workplace(t);
    const ids = makeKeys(place, MANY);
    const [json, table, rest] = await place.runAll([
      ['keys', 'list', '--json'],
      ['keys', 'list'],
      ['keys', 'list', '--limit', `${MANY}`],
    ]);
    assert.deepEqual(
      (JSON.parse(json?.stdout ?? '') as KeyJson[]).map(({ id }) => id),
      ids,
    );
    assert.deepEqual(namesIn(table?.stdout ?? ''), names(1, 200));
    const hint = /^More keys: inf-gw (keys list .+)$/.exec(linesOf(table?.stdout ?? '').at(-1) ?? '');
    const next = await place.run(hint?.[1]?.split(' ') ?? []);
    assert.deepEqual(namesIn(next.stdout), names(201, MANY));
    assert.doesNotMatch(next.stdout, /There are more/);
    assert.deepEqual(namesIn(rest?.stdout ?? ''), names(1, MANY));
    assert.doesNotMatch(rest?.stdout ?? '', /There are more/);
  });

  test('keeps --all and --limit in the command for the next page', async (t) => {
    const place = new Workplace(t);
    makeKeys(place, 6);
    await place.run(['keys', 'delete', 'k4', '--yes']);
    const first = await place.run(['keys', 'list', '--all', '--limit', '2']);
    const hint = /^More keys: inf-gw (keys list .+)$/.exec(linesOf(first.stdout).at(-1) ?? '');
    const next = await place.run(hint?.[1]?.split(' ') ?? []);
    assert.deepEqual(namesIn(next.stdout), names(3, 4));
  });

  test('is of the first by name, if sorted by it', async (t) => {
    const place = new Workplace(t);
    for (const name of ['k10', 'k3', 'k9', 'k1']) await place.createKey(name);
    const sorted = await place.run(['keys', 'list', '--sort', 'name', '--limit', '3']);
    assert.deepEqual(namesIn(sorted.stdout), ['k1', 'k3', 'k9']);
    assert.match(sorted.stdout, /\nThese are 3 of 4 keys; --limit shows more\.\n$/);
    const byCost = await place.json<readonly { name: string }[]>('keys', 'list', '--sort', 'cost');
    assert.deepEqual(
      byCost.map(({ name }) => name),
      ['k10', 'k3', 'k9', 'k1'],
      'as created, since none has cost anything',
    );
  });

  test('takes a whole number of at least one as the limit; anything else is a usage error', async (t) => {
    const place = new Workplace(t);
    const wrong = ['0', '-1', '1.5', 'all', '', '1000001'];
    const answers = await place.runAll(wrong.map((limit) => ['keys', 'list', '--limit', limit]));
    assert.deepEqual(
      answers.map(({ status }) => status),
      wrong.map(() => 2),
    );
  });
});

test('a page starts after an id, whether or not its key still exists', (t) => {
  const place = new Workplace(t);
  const ids = makeKeys(place, 5);
  const { database } = openDatabase(place.statePath);
  const keys = bookOf(database).keys;
  const listed = (afterId: string, limit?: number) =>
    keys.list({ withDeleted: false, afterId, limit }).map(({ id }) => id);
  keys.setState(ids[1] as string, 'deleted');
  assert.deepEqual(listed(ids[1] as string), ids.slice(2));
  assert.deepEqual(listed(ids[0] as string, 2), ids.slice(2, 4));
  assert.deepEqual(listed('', 1), ids.slice(0, 1));
  assert.deepEqual(listed(ids[4] as string), []);
  database.close();
});
