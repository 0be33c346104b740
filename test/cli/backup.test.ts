/** `backup` and `restore` as an operator uses them: under a running gateway, without a terminal, and on PostgreSQL. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { type BalanceJson, CONCURRENCY, CONFIG, type KeyJson, Workplace } from '../support/cli.ts';
import { until } from '../support/wait.ts';

describe('`backup` and `restore`', { concurrency: CONCURRENCY }, () => {
  test('put a state back as it was, with what was in flight charged as held', async (t) => {
    const place = new Workplace(t);
    await place.json('credit', 'add', '10');
    const { key } = await place.createKey('app');
    const gateway = await place.serve();
    const aborted = new AbortController();
    const answer = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      signal: aborted.signal,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'mock/paid', messages: [{ role: 'user', content: 'hello /delay 100s' }] }),
    }).catch(() => undefined);
    await until(async () => (await place.json<BalanceJson>('credit', 'show')).held_usd !== '0.00');
    const made = await place.json<{ file: string; bytes: number; state: string }>('backup', 'copy.db');
    assert.deepEqual(made, { state: place.statePath, file: join(place.directory, 'copy.db'), bytes: made.bytes });
    const { available_usd: available } = await place.json<BalanceJson>('credit', 'show');

    const refused = await place.run(['restore', 'copy.db', '--yes']);
    assert.deepEqual([refused.status, refused.stdout], [1, '']);
    assert.match(refused.stderr, /^error: a gateway is running on \S+state\.db; stop it first\n$/);
    aborted.abort();
    await answer;
    gateway.signal('SIGKILL');
    await gateway.ended;
    await place.createKey('made-since');
    const asked = await place.run(['restore', 'copy.db']);
    assert.equal(asked.status, 1);
    assert.match(asked.stderr, /^error: there is a state at \S+state\.db, and no terminal to ask on; .* use --yes\n$/);

    const restored = await place.run(['restore', 'copy.db', '--yes']);
    assert.equal(restored.status, 0, restored.stderr);
    const [, kept = ''] =
      /^Restored \S+state\.db from \S+copy\.db\. The previous state is kept as (\S+)\.\n$/.exec(restored.stdout) ?? [];
    assert.ok(existsSync(kept), restored.stdout);
    const keys = await place.json<KeyJson[]>('keys', 'list');
    assert.deepEqual(
      keys.map(({ name }) => name),
      ['app'],
    );
    assert.equal(await (await place.serveHere()).stop(), 0);
    const [request] = await place.json<{ outcome: string; source: string }[]>('requests', 'list');
    assert.deepEqual([request?.outcome, request?.source], ['interrupted', 'held']);
    assert.deepEqual(await place.json('credit', 'show'), {
      balance_usd: available,
      held_usd: '0.00',
      available_usd: available,
    });
    assert.equal((await place.json<{ ok: boolean }>('audit')).ok, true);
  });

  test('say where the copy is and how to put it back, and need no more than a config or a backup', async (t) => {
    const [place, other] = [new Workplace(t), new Workplace(t, null)];
    await place.createKey('app');
    const { stdout } = await place.run(['backup', 'copy.db']);
    const copy = join(place.directory, 'copy.db');
    assert.match(stdout, /^Backed up to (\S+copy\.db) \(\d+ KB\)\. To put it back: inf-gw restore \1\n$/);
    assert.deepEqual(readdirSync(place.directory).toSorted(), ['config.yaml', 'copy.db', 'state.db']);
    assert.equal((await other.run(['backup', 'copy.db'])).status, 1);
    assert.deepEqual(readdirSync(other.directory), []);
    const { stdout: restored } = await other.run(['restore', copy]);
    assert.equal(restored, `Restored ${other.directory}/inf-gw.db from ${copy}.\n`);
    assert.equal((await other.json<KeyJson[]>('keys', 'list')).length, 1);
  });

  test('find fault with a backup before they ask for the word to use it', async (t) => {
    const place = new Workplace(t);
    await place.createKey('app');
    const { status, stderr } = await place.run(['restore', 'no-such.db']);
    assert.deepEqual([status, stderr], [1, `error: no file at ${place.directory}/no-such.db; name a backup\n`]);
  });

  test('name the tool of PostgreSQL, with the whole command and no password', async (t) => {
    const url = "postgres://own%20er:secret@db.example:6543/gate'way";
    const place = new Workplace(t, CONFIG.replace('./state.db', JSON.stringify(url)));
    const [made, restored] = await place.runAll([
      ['backup', 'copy.dump'],
      ['restore', 'copy.dump', '--yes'],
    ]);
    assert.deepEqual([made?.status, restored?.status], [1, 1]);
    const options = "--host=db.example --port=6543 '--username=own er'";
    const tls = 'PGSSLMODE=verify-full PGSSLROOTCERT=system';
    const file = join(place.directory, 'copy.dump');
    const password = 'error: it asks for the password, or takes it from ~/.pgpass; do not write it into the command\n';
    assert.equal(
      made?.stderr,
      `error: the state is in PostgreSQL, so back it up with: ${tls} pg_dump ${options} --schema=inf_gw --format=custom --file=${file} 'gate'\\''way'\n${password}`,
    );
    assert.equal(
      restored?.stderr,
      `error: the state is in PostgreSQL, so stop its gateways and restore it with: ${tls} pg_restore ${options} '--dbname=gate'\\''way' --clean --if-exists --single-transaction ${file}\n${password}`,
    );
  });

  test('name every server of an address, and ask for the primary', async (t) => {
    const url = 'postgres://own@127.0.0.1:6543,127.0.0.2:6544/gateway';
    const place = new Workplace(t, CONFIG.replace('./state.db', url));
    for (const command of ['backup', 'restore']) {
      const { stderr } = await place.run([command, 'copy.dump', ...(command === 'restore' ? ['--yes'] : [])]);
      assert.match(
        stderr,
        /: PGTARGETSESSIONATTRS=read-write pg_\w+ --host=127\.0\.0\.1,127\.0\.0\.2 --port=6543,6544 /,
      );
    }
  });
});
