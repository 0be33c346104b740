/** Budgets and expiry in the commands: what they set, what they show, and a key whose time is over. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { type KeyJson, Workplace } from '../support/cli.ts';

const NO_LIMITS = { rpm: null, tpm: null, concurrency: null, spendLimitNanos: null, allowlist: null };

describe('budgets', () => {
  test('are set with a key and changed later, and shown by every command', async (t) => {
    const place = new Workplace(t);
    const shown = ({ budgets, expires_at: expires }: KeyJson) => [
      ...budgets.map(({ period, limit_usd: limit, spent_usd: spent }) => `${period} ${spent} of ${limit}`),
      expires?.slice(0, 4),
    ];
    const made = await place.json<KeyJson>(
      ...['keys', 'create', 'app', '--budget', '24h=5', '--budget', 'day=0.5', '--expires', '2099-01-31'],
    );
    assert.deepEqual(shown(made), ['day 0.00 of 0.50', '24h 0.00 of 5.00', '2099']);
    assert.deepEqual(
      made.budgets.map(({ resets_at: at }) => at?.slice(10) ?? null),
      ['T00:00:00.000Z', null],
    );
    const changed = await place.json<KeyJson>(
      ...[
        'limits',
        'set',
        'app',
        '--budget',
        '1d=6',
        '--budget',
        'day=none',
        '--budget',
        'total=9',
        '--expires',
        'never',
      ],
    );
    assert.deepEqual(shown(changed), ['1d 0.00 of 6.00', 'total 0.00 of 9.00', undefined]);
    assert.deepEqual(await place.json('keys', 'show', 'app'), changed);
    assert.deepEqual(await place.json('limits', 'show', 'app'), changed);
    assert.deepEqual(await place.json('keys', 'list'), [changed]);
    const { stdout } = await place.run(['keys', 'list']);
    assert.match(stdout, /BUDGETS \(USD\).*\n.* 1d 0\.00\/6\.00, total 0\.00\/9\.00 /);
    assert.match((await place.run(['keys', 'show', 'app'])).stdout, /\nbudget per 1d +0\.00 of 6\.00 USD spent\n/);
    assert.deepEqual(shown(await place.json<KeyJson>('keys', 'rotate', 'app')), shown(changed));
  });

  test('that are no budgets are refused with the words for one', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    for (const words of [
      ['--budget', 'month=5'],
      ['--budget', '5'],
      ['--expires', '2020-01-01'],
    ]) {
      const { status, stderr } = await place.run(['limits', 'set', 'app', ...words]);
      assert.equal(status, 2);
      assert.match(stderr, /Expected (?:a period and an amount in USD, such as day=5|how long from now)/);
    }
  });
});

test('a key that has expired says so, has no successor, and comes back with more time', async (t) => {
  const place = new Workplace(t);
  const { database } = openDatabase(place.statePath);
  bookOf(database).keys.create(mintKey(), { ...NO_LIMITS, name: 'old', expiresAtMs: 1 }, 0);
  database.close();
  assert.match((await place.run(['keys', 'list'])).stdout, /EXPIRES.*\n.* expired .*1970-01-01/);
  assert.match(
    (await place.run(['keys', 'enable', 'old'])).stderr,
    /^note: old is refused until it has more time: inf-gw limits set old --expires 30d$/m,
  );
  const { status, stderr } = await place.run(['keys', 'rotate', 'old']);
  assert.equal(status, 1);
  assert.match(stderr, /key old has expired; give it more time first: inf-gw limits set old --expires 30d/);
  const key = await place.json<KeyJson>('limits', 'set', 'old', '--expires', '30d');
  assert.ok(Date.parse(key.expires_at ?? '') > Date.now());
  assert.match((await place.run(['keys', 'show', 'old'])).stdout, /\nstate +enabled\n/);
});

test('what an expired key has made says so, however much time it has itself', async (t) => {
  const place = new Workplace(t);
  const { database } = openDatabase(place.statePath);
  const { keys } = bookOf(database);
  const made = keys.create(mintKey(), { ...NO_LIMITS, name: 'old', expiresAtMs: 1, mayCreate: true }, 0);
  const parentId = made.kind === 'done' ? made.key.id : '';
  keys.create(mintKey(), { ...NO_LIMITS, name: 'child', parentId }, 0);
  database.close();
  const until = /^note: (\S+) is refused until old has more time: inf-gw limits set old --expires 30d$/m;
  assert.match((await place.run(['keys', 'list'])).stdout, /^child .* expired with old /m);
  assert.match((await place.run(['keys', 'show', 'child'])).stdout, /^state +expired with old$/m);
  assert.equal(until.exec((await place.run(['keys', 'enable', 'child'])).stderr)?.[1], 'child');
  assert.equal(until.exec((await place.run(['explain', '--key', 'child'], '{}')).stderr)?.[1], 'child');
  assert.equal(until.exec((await place.run(['keys', 'rotate', 'child'])).stderr)?.[1], 'child-2');
});
