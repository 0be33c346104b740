/**
 * `inf-gw status`: the running gateway for people and for programs, and what it says if none is
 * running.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { VERSION } from '../../src/core/program.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { CONCURRENCY, CONFIG, Workplace } from '../support/cli.ts';
import { bounded } from '../support/wait.ts';

const STALLING = { stream: true, messages: [{ role: 'user', content: '/stall 1' }] };
/** The fields of the document, in order. */
const FIELDS = [
  'running',
  'version',
  'pid',
  'uptime_s',
  'address',
  'tls',
  'threads',
  'config',
  'state',
  'draining',
  'storage_fault',
  'in_flight',
  'earlier',
  'requests_per_s',
  'tokens_per_s',
  'usd_per_min',
  'balance_usd',
  'held_usd',
  'loop_delay_ms',
  'memory_bytes',
  'state_bytes',
  'log_bytes',
  'upstreams',
  'skipped',
  'spent_groups',
  'spent_keys',
];

/** What people and programs read if no gateway is running. */
async function assertNotRunning(place: Workplace): Promise<void> {
  const [human, json] = await place.runAll([['status'], ['status', '--json']]);
  assert.deepEqual(human, {
    status: 1,
    stdout: '',
    stderr: `no gateway is running on ${place.statePath}; start one with: inf-gw serve\n`,
  });
  assert.deepEqual(
    { ...json, stdout: JSON.parse(json?.stdout ?? '') },
    { status: 1, stdout: { running: false, state: place.statePath }, stderr: '' },
  );
}

describe('`inf-gw status`', { concurrency: CONCURRENCY }, () => {
  test('prints one JSON document with the figures', async (t) => {
    const place = new Workplace(t, `threads: 2\n${CONFIG}`);
    const serving = await place.serveHere();
    const [{ key }] = await Promise.all([place.createKey('app'), place.json('credit', 'add', '10')]);
    assert.equal(await serving.chatOutcome(key, { model: 'mock/paid', max_tokens: 10 }), '200');
    const refused = { messages: [{ role: 'user', content: '/error 503' }] };
    assert.equal(await serving.chatOutcome(key, refused), '502 upstream_error');
    const open = await serving.chat(key, { model: 'mock/paid', max_tokens: 100, ...STALLING });
    const reader = open.body?.getReader();
    await reader?.read();
    assert.deepEqual(await place.json('status', '--ready'), { ready: true, reason: null });
    const status = await place.json<Record<string, unknown>>('status');
    assert.deepEqual(Object.keys(status), FIELDS);
    assert.deepEqual(
      [status.running, status.version, `http://${status.address}`, status.threads, status.draining],
      [true, VERSION, serving.url, 2, false],
    );
    assert.deepEqual([status.config, status.state], [`${place.directory}/config.yaml`, place.statePath]);
    assert.deepEqual([status.in_flight, status.storage_fault], [1, null]);
    const shown = { balance_usd: status.balance_usd, held_usd: status.held_usd };
    const { balance_usd, held_usd } = await place.json<typeof shown>('credit', 'show');
    assert.deepEqual(shown, { balance_usd, held_usd });
    assert.ok(Number(held_usd) > 0);
    const [upstream] = status.upstreams as {
      provider: string;
      in_flight: number;
      requests: number;
      failures: number;
    }[];
    assert.deepEqual(
      [upstream?.provider, upstream?.in_flight, upstream?.requests, upstream?.failures],
      ['mock', 1, 2, 1],
    );
    await reader?.cancel();
  });

  test('prints the same for people', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    assert.equal(await serving.chatOutcome(key), '200');
    const refused = { messages: [{ role: 'user', content: '/error 503' }] };
    assert.equal(await serving.chatOutcome(key, refused), '502 upstream_error');
    const { status, stdout, stderr } = await place.run(['status']);
    assert.deepEqual([status, stderr], [0, '']);
    for (const line of [
      /^state +serving$/m,
      new RegExp(`^version +${VERSION.replaceAll('.', '\\.')}, process \\d+, up \\d+s$`, 'm'),
      new RegExp(`^address +${serving.url}, 1 thread$`, 'm'),
      new RegExp(`^config +${place.directory}/config\\.yaml$`, 'm'),
      /^in flight +0$/m,
      /^rate +\d+\.\d requests\/s, \d+ tokens\/s, \d+\.\d+ USD\/min$/m,
      /^balance +0\.00 USD, 0\.00 held$/m,
      /^event loop delay +p50 \d+ ms, p99 \d+ ms, max \d+ ms$/m,
      /^memory +\d+ MB$/m,
      new RegExp(`^state file +${place.statePath}, \\d+ KB, log \\d+ [KM]B$`, 'm'),
      /^UPSTREAM \(LAST MINUTE\) +STATE +IN FLIGHT +REQUESTS +FAILED +LAST FAILURE$/m,
      /^mock +in use +0 +2 +1 +the upstream answered 503$/m,
    ]) {
      assert.match(stdout, line);
    }
  });

  test('names the groups that have spent their budgets, or nearly', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    await place.json('credit', 'add', '10');
    const paid = { model: 'mock/paid', max_tokens: 10 };
    for (const [name, budget] of [
      ['spent', 'day=0.001'],
      ['nearly', 'day=1'],
      ['open', 'day=1'],
      ['off', 'day=0.001'],
    ] as const) {
      await place.run(['groups', 'create', name, '--budget', budget]);
      const { key } = await place.createKey(name, '--in', `@${name}`);
      await serving.chat(key, paid);
    }
    // It serves nothing anyway.
    await place.run(['keys', 'disable', '@off']);
    const shown = await place.run(['keys', 'list']);
    assert.match(shown.stdout, / spent by @spent, resets 00:00 UTC /);
    assert.match(shown.stdout, / disabled by @off /);
    for (const command of ['keys show', 'limits show']) {
      const { stdout } = await place.run([...command.split(' '), 'spent']);
      assert.match(stdout, /^state +spent by @spent, resets 00:00 UTC$/m, command);
    }
    const { blocked_by: blocker } = await place.json<{ blocked_by: object | null }>('keys', 'show', 'spent');
    const midnight = `${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}T00:00:00.000Z`;
    assert.deepEqual(blocker, { level: '@spent', reason: 'spent', period: 'day', resets_at: midnight });
    const { stderr } = await place.run(['keys', 'move', 'open', '--to', '@spent']);
    assert.match(
      stderr,
      /^note: open is refused until 00:00 UTC, when its day budget resets, or until @spent may spend/m,
    );
    await place.run(['keys', 'move', 'open', '--to', '@open']);
    const { month } = await place.json<{ month: { cost_usd: string } }>('groups', 'show', '@nearly');
    await place.run(['limits', 'set', '@nearly', '--budget', `day=${(Number(month.cost_usd) * 1.2).toFixed(6)}`]);
    const { spent_groups: groups } = await place.json<{ spent_groups: { name: string; spent: boolean }[] }>('status');
    assert.deepEqual(
      groups.map(({ name, spent }) => [name, spent]),
      [
        ['spent', true],
        ['nearly', false],
      ],
    );
    const { stdout } = await place.run(['status']);
    assert.match(stdout, /^spent +@spent: \d.* of 0\.001\d* USD per day, resets in \S+, 00:00 UTC; refuses 1 key$/m);
    assert.match(stdout, /^nearly spent +@nearly: \d/m);
  });

  test('names the keys that have spent their budgets, or nearly, and of too many none', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    await place.json('credit', 'add', '10');
    const paid = { model: 'mock/paid', max_tokens: 10 };
    const terms = { nearly: 'day=1', spent: 'total=0.001', open: 'day=1', off: 'day=0.001' };
    for (const [name, budget] of Object.entries(terms)) {
      const { key } = await place.createKey(name, '--budget', budget);
      await serving.chat(key, paid);
    }
    await place.run(['keys', 'disable', 'off']);
    const { month } = await place.json<{ month: { cost_usd: string } }>('keys', 'show', 'nearly');
    await place.run(['limits', 'set', 'nearly', '--budget', `day=${(Number(month.cost_usd) * 1.2).toFixed(6)}`]);
    const spentKeys = async () =>
      (await place.json<{ spent_keys: { name: string; spent: boolean }[] | null }>('status')).spent_keys;
    assert.deepEqual(
      (await spentKeys())?.map(({ name, spent }) => [name, spent]),
      [
        ['spent', true],
        ['nearly', false],
      ],
    );
    const { stdout } = await place.run(['status']);
    assert.match(stdout, /^spent +spent: \d.* of 0\.001\d* USD in total, never resets$/m);
    assert.match(stdout, /^nearly spent +nearly: \d/m);
    const { database } = openDatabase(place.statePath);
    database.exec(`WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)
      INSERT INTO keys (id, name, hash, preview, state, created_at_ms)
      SELECT printf('key_%026d', n), 'app-' || n, 'hash ' || n, '', 'enabled', 0 FROM numbers`);
    database.close();
    assert.equal(await spentKeys(), null);
  });

  test('says that the gateway is shutting down', async (t) => {
    const place = new Workplace(t);
    const serving = await place.serveHere();
    const { key } = await place.createKey('app');
    const reader = (await serving.chat(key, STALLING)).body?.getReader();
    await reader?.read();
    serving.signal('SIGTERM');
    await bounded(serving.logged(/shutting down, .* 1 request in flight/), 'the drain');
    const [human, json] = await Promise.all([place.run(['status']), place.json<{ draining: boolean }>('status')]);
    assert.equal(human.status, 0);
    assert.match(human.stdout, /^state +shutting down$/m);
    assert.equal(json.draining, true);
    const ready = await place.run(['status', '--ready']);
    assert.deepEqual([ready.status, ready.stdout, ready.stderr], [1, '', 'the gateway is shutting down\n']);
    await reader?.cancel();
    assert.deepEqual(await bounded(serving.ended, 'the gateway ends'), { status: 0, signal: null });
  });

  test('ends with status 1 if no gateway was started, or it was stopped or killed', async (t) => {
    const place = new Workplace(t);
    await assertNotRunning(place);
    const first = await place.serveHere();
    assert.equal(await first.stop(), 0);
    await assertNotRunning(place);
    const second = await place.serve();
    second.signal('SIGKILL');
    await second.ended;
    await assertNotRunning(place);
  });

  test('ends with status 1 if something else is in place of the socket', async (t) => {
    const place = new Workplace(t);
    writeFileSync(`${place.statePath}-control`, 'mine');
    await assertNotRunning(place);
  });

  test('asks the gateway of the config it is given', async (t) => {
    const place = new Workplace(t);
    place.write('other.yaml', CONFIG.replace('state.db', 'other.db'));
    const serving = await place.serveHere('other.yaml');
    const { address } = await place.json<{ address: string }>('status', '-c', 'other.yaml');
    assert.equal(`http://${address}`, serving.url);
    assert.equal((await place.run(['status'])).status, 1);
  });
});
