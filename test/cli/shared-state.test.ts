/**
 * What commands say of gateways that share a database: `status` and `requests`, on a machine with a
 * gateway and on one without.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { mintKey } from '../../src/core/api-key.ts';
import { VERSION } from '../../src/core/program.ts';
import { CONFIG, type Serving, Workplace } from '../support/cli.ts';
import { PostgresServer } from '../support/postgres.ts';
import { bounded, until } from '../support/wait.ts';

interface NodeJson {
  readonly name: string;
  readonly version: string;
  readonly alive: boolean;
  readonly state: string;
  readonly requests_per_min: number;
  readonly tokens_per_min: number;
  readonly in_flight: number;
  readonly held_usd: string;
}

interface StatusJson {
  readonly running: boolean;
  readonly in_flight: number;
  readonly balance_usd: string;
  readonly held_usd: string;
  readonly log_entries: number | null;
  readonly log_bytes: number | null;
  readonly nodes: readonly NodeJson[] | null;
}

const STALLING = {
  model: 'mock/paid',
  max_tokens: 100,
  stream: true,
  messages: [{ role: 'user', content: '/stall 1' }],
};

describe('on a database that gateways share', () => {
  let server: PostgresServer;
  let a: Serving;
  let b: Serving;
  let key: string;
  const place = () => new Workplace({ after }, null);
  /** `a` and `b` serve; no gateway runs at `c`. */
  const places = { a: place(), b: place(), c: place() };

  before(async () => {
    server = await PostgresServer.start();
    const url = await server.createDatabase();
    for (const [node, each] of Object.entries(places)) {
      each.write('config.yaml', CONFIG.replace('./state.db', `${url}\nnode: ${node}`));
    }
    ({ key } = await places.c.createKey('app'));
    await places.c.json('credit', 'add', '10');
    [a, b] = await Promise.all([places.a.serveHere(), places.b.serve()]);
  });
  // The gateways end before the database does.
  after(() => server.stop());

  test('completion finds the keys there, and makes no tables where there are none', async (t) => {
    assert.equal((await places.c.run(['__complete', 'keys', 'show', ''])).stdout, 'app\t\n');
    const empty = new Workplace(t, CONFIG.replace('./state.db', await server.createDatabase()));
    assert.deepEqual(await empty.run(['__complete', 'keys', 'show', '']), { status: 0, stdout: '', stderr: '' });
    assert.match((await empty.run(['keys', 'list'])).stderr, /^created the tables in /);
  });

  test('a start says that no certificate tells who the database is', () => {
    assert.match(
      a.text,
      /"level":"info".*no certificate tells who answers at 127\.0\.0\.1:\d+: it must prove by SCRAM/,
    );
  });

  const nodes = async (): Promise<Record<string, NodeJson>> => {
    const { stdout } = await places.c.run(['status', '--json']);
    const list = (JSON.parse(stdout) as StatusJson).nodes ?? [];
    return Object.fromEntries(list.map((node) => [node.name, node]));
  };

  /** Leaves a stream open at a gateway. Returns the id of the request. */
  async function openStream(serving: Serving): Promise<{ id: string; text: Promise<string> }> {
    const response = await serving.chat(key, STALLING);
    const id = response.headers.get('x-request-id') ?? '';
    assert.match(id, /^req_/);
    // It is in the tables once its gateway has written what it has decided.
    await until(async () => (await places.c.run(['requests', 'show', id])).status === 0);
    return { id, text: response.text() };
  }

  test('`status` shows account and gateways where no gateway runs, and says so', async () => {
    const { id } = await openStream(b);
    const { status, stdout, stderr } = await places.c.run(['status']);
    assert.deepEqual(
      [status, stderr],
      [0, 'no gateway of this config, c, is running here; start one with: inf-gw serve\n'],
    );
    assert.match(stdout, /^database +postgres:\/\/\w+:\*\*\*@127\.0\.0\.1:\d+\/\w+, log \d+ entries, \d\S* [KM]B$/m);
    assert.match(stdout, /^in flight +1$/m);
    assert.match(stdout, /^balance +10\.00 USD, 0\.\d+ held$/m);
    const row = (name: string, inFlight: number) =>
      new RegExp(`^${name} +alive, up \\d+s +${VERSION.replaceAll('.', '\\.')} .* ${inFlight} +0\\.\\d+$`, 'm');
    assert.match(stdout, row('a', 0));
    assert.match(stdout, row('b', 1));
    const json = await places.c.json<StatusJson>('status');
    assert.deepEqual([json.running, json.in_flight, json.balance_usd], [false, 1, '10.00']);
    assert.ok(Number(json.log_entries) > 0 && Number(json.log_bytes) > 0);
    const held = json.nodes?.map(({ name, alive, in_flight, held_usd }) => [name, alive, in_flight, held_usd]);
    assert.deepEqual(held, [
      ['a', true, 0, '0.00'],
      ['b', true, 1, json.held_usd],
    ]);
    assert.ok(Number(json.held_usd) > 0);
    assert.equal((await places.c.run(['requests', 'stop', id])).status, 0);
  });

  test('`status` of a gateway adds the others to its own figures', async () => {
    const { id } = await openStream(b);
    const json = await places.a.json<StatusJson>('status');
    assert.deepEqual([json.running, json.in_flight], [true, 0]);
    assert.ok(Number(json.log_entries) > 0 && Number(json.log_bytes) > 0);
    const inFlight = Object.fromEntries(json.nodes?.map((node) => [node.name, node.in_flight]) ?? []);
    assert.equal(inFlight.a, 0);
    assert.ok((inFlight.b ?? 0) >= 1);
    const { stdout } = await places.a.run(['status']);
    assert.match(stdout, /^state +serving$/m);
    assert.match(stdout, /^database +postgres:.*, log \d+ entries, /m);
    assert.match(stdout, /^b +alive, up /m);
    assert.equal((await places.b.run(['requests', 'stop', id])).status, 0);
  });

  test('the figures of a gateway are those of its last minute', async () => {
    assert.equal(await a.chatOutcome(key, { max_tokens: 5 }), '200');
    // Each tells its own from time to time.
    await until(async () => {
      const { a: first, b: second } = await nodes();
      return (first?.tokens_per_min ?? 0) > 0 && second?.requests_per_min === 2;
    });
    assert.equal((await nodes()).a?.requests_per_min, 1);
  });

  test('a request is shown with its gateway, and stopped from where none runs', async () => {
    const { id, text } = await openStream(b);
    const show = await places.c.json<{ node: string; state: string }>('requests', 'show', id);
    assert.deepEqual([show.node, show.state], ['b', 'in_flight']);
    const stopped = await places.c.run(['requests', 'stop', id]);
    assert.deepEqual(stopped, {
      status: 0,
      stdout: `The gateway that has ${id} will stop it within seconds.\n`,
      stderr: '',
    });
    assert.match(await bounded(text, 'the stream ends'), /"error"/);
    const { stdout } = await places.c.run(['requests', 'show', id]);
    assert.match(stdout, /^node +b$/m);
    const list = await places.a.run(['requests', '--limit', '1']);
    assert.match(list.stdout, /^ADMITTED \(UTC\) +KEY +MODEL +NODE /);
    assert.match(list.stdout, new RegExp(` mock/paid +b .* ${id}`));
    const again = await places.c.run(['requests', 'stop', id]);
    assert.deepEqual([again.status, again.stdout], [1, '']);
    assert.match(again.stderr, /^error: no request in flight has the id "req_\w+"; it may have ended\n$/);
  });

  test('`requests stop` asks the gateway of its own config first', async () => {
    const { id, text } = await openStream(a);
    const { stdout } = await places.a.run(['requests', 'stop', id]);
    assert.equal(stdout, `Stopped ${id}.\n`);
    assert.match(await bounded(text, 'the stream ends'), /"error"/);
  });

  test('a gateway that was killed is silent, and one that was stopped is that; with none left `status` fails', async () => {
    b.signal('SIGKILL');
    await b.ended;
    // As if the time had passed.
    await server.query(`UPDATE inf_gw.nodes SET alive_us = alive_us - 20000000 WHERE name = 'b'`, 'gateway_1');
    const { a: left, b: killed } = await nodes();
    assert.deepEqual([left?.alive, killed?.alive, killed?.state], [true, false, 'silent']);
    assert.equal(killed?.requests_per_min, 0);
    assert.match((await places.b.run(['status'])).stdout, /^b +silent for \d+s /m);
    assert.equal(await a.stop(), 0);
    const { status, stdout } = await places.c.run(['status']);
    assert.equal(status, 1);
    assert.match(stdout, /^a +stopped \d+s ago /m);
  });

  test('`status` of a gateway says what it knows while the database is away', async () => {
    a = await places.a.serveHere();
    await server.crash();
    const { status, stdout, stderr } = await places.a.run(['status', '--json']);
    const json = JSON.parse(stdout) as StatusJson;
    assert.deepEqual([status, json.running, json.nodes], [0, true, null]);
    assert.match(stderr, /127\.0\.0\.1/);
    const other = await places.c.run(['status', '--json']);
    assert.deepEqual([other.status, other.stdout], [1, '']);
    assert.match(other.stderr, /127\.0\.0\.1/);
  });

  test('the log says when the database is away, now and then how many requests that costs, and when it is back', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => a.chatOutcome(mintKey())));
    assert.deepEqual(new Set(outcomes), new Set(['500 internal_error']));
    await a.logged(/\d+ requests? failed in the last seconds, since the state cannot be used/);
    await server.restart();
    await a.logged(/can be written again/);
    const errors = a.log.filter(({ level }) => level === 'error');
    const failed = errors.filter(({ msg }) => /failed in the last seconds/.test(msg));
    assert.ok(errors.length - failed.length <= 3, a.text);
    assert.ok(failed.length <= 3, a.text);
    assert.doesNotMatch(a.text, /"stack"/);
  });
});
