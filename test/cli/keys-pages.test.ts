/**
 * `keys list` in pages: together they are the whole list, and each says how to get the next one.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { CONCURRENCY, type KeyJson, linesOf, Workplace } from '../support/cli.ts';

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
