/** The database fails over to a real standby under load: both are in the address, or it follows the primary. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Link } from '../support/link.ts';
import type { PostgresServer } from '../support/postgres.ts';
import { Random } from '../support/random.ts';
import { RunScope } from '../support/run-scope.ts';
import type { TestKey } from '../support/state.ts';
import { until } from '../support/wait.ts';
import { Cluster, type Node } from './cluster.ts';
import { Load, type Sent } from './load.ts';
import { Host, KEY_LIMITS, KEY_NAMES, type KeyName } from './plan.ts';
import { judge } from './verdicts.ts';

const PACE = { clientsPerNode: 4, restMs: 20 };
const SEED = 4_711;
const LEAD_MS = 1_500;
/** What the standby has not got of the log, where it is asynchronous: more than clients have in flight, so that some were answered. */
const LAG_ENTRIES = 40;

for (const isSynchronous of [true, false]) {
  const which = isSynchronous
    ? 'a synchronous standby, which is in the address'
    : 'an asynchronous standby, behind an address that follows the primary';
  describe(`a failover to ${which}`, () => {
    const scope = new RunScope();
    let cluster: Cluster;
    let replication: Link;
    let standby: PostgresServer;
    before(async () => {
      cluster = await Cluster.open(scope, 2);
      const primary = cluster.server;
      replication = await Link.open(primary.port);
      standby = await primary.startStandby(replication.port);
      scope.after(async () => {
        await replication.close();
        await primary.stop();
        await standby.stop();
      });
      if (!isSynchronous) return;
      await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'standby'`);
      await primary.query('SELECT pg_reload_conf()');
      const state = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
      await until(async () => (await primary.query(state)).length === 1);
      await cluster.nameBoth(standby);
    });
    after(() => scope.end());

    const promise = isSynchronous
      ? 'loses nothing and charges nothing twice'
      : 'loses no more than what the standby had not got, and charges nothing twice';
    test(`${promise}; the gateways that run serve again`, async (t) => {
      const { place } = cluster.nodes[0] as Node;
      // Before there are plans for what the host is asked.
      cluster.upstream.follow((call) => call.answer(200, { data: [] }));
      const { stdout } = await place.run(['doctor']);
      assert.equal(
        /database: .*waits for no standby: one that takes over may lack/.test(stdout),
        !isSynchronous,
        stdout,
      );
      const made = await cluster.newKeys(KEY_NAMES.map((key) => KEY_LIMITS[key]));
      const keys = Object.fromEntries(KEY_NAMES.map((key, index) => [key, made[index]])) as Record<KeyName, TestKey>;
      const load = new Load(cluster.nodes, keys, PACE, new Random(SEED), 1);
      const host = new Host(load.plans);
      cluster.upstream.follow((call) => host.receive(call));
      await pause(LEAD_MS);
      const lostFromMs = performance.now();
      if (!isSynchronous) {
        // Even without a cut the standby is behind: it has all that had ended by then.
        const [written] = await cluster.query('SELECT pg_current_wal_flush_lsn() AS lsn');
        const received = `SELECT FROM pg_last_wal_receive_lsn() AS lsn WHERE lsn >= '${written?.lsn}'`;
        await until(async () => (await standby.query(received)).length === 1);
        replication.silence();
        const entries = async () => Number((await cluster.query('SELECT seq FROM inf_gw.account'))[0]?.seq);
        const before = await entries();
        await until(async () => (await entries()) > before + LAG_ENTRIES);
      }
      await cluster.failOver(standby, !isSynchronous);
      const lostUntilMs = performance.now();
      for (const node of cluster.nodes) await until(() => node.isReady());
      const served = () => load.sent.filter(({ end, sentAtMs }) => isServed(end) && sentAtMs > lostUntilMs).length;
      await until(() => served() > 10);
      t.diagnostic(`served again ${Math.round(performance.now() - lostUntilMs)} ms after the standby was promoted`);
      await load.stop();
      await cluster.settled();
      const rows = await cluster.rows(made);
      const mayBeLost = (sent: Sent) => !isSynchronous && sent.sentAtMs < lostUntilMs && sent.endedAtMs > lostFromMs;
      const sent = load.sent.filter((each) => !mayBeLost(each));
      const others = new Set(load.sent.filter(mayBeLost).map(({ plan }) => plan.marker));
      const mine = rows.filter(
        ({ outputTokens, source }) => !others.has(source === 'held' ? outputTokens / 2 : outputTokens),
      );
      const { deviations } = judge({ sent, rows: mine, seen: host.seen, keys, undead: new Set() });
      assert.deepEqual(deviations, []);
      assert.equal(new Set(rows.map(({ requestId }) => requestId)).size, rows.length);
      const { losses } = await place.json<{ losses: readonly LossJson[] }>('status');
      if (isSynchronous) {
        assert.deepEqual(losses, []);
        assert.deepEqual(await cluster.faults(), []);
        return;
      }
      const logs = cluster.nodes.flatMap(({ serving }) => serving.log.map(({ msg }) => msg));
      assert.ok(logs.some((msg) => /has lost entry \d+ of the log/.test(msg)));
      // Each gateway that knows says so once, and they agree on where it begins.
      assert.ok(losses.length > 0);
      assert.equal(new Set(losses.map(({ node }) => node)).size, losses.length);
      assert.equal(new Set(losses.map(({ first_entry: first }) => first)).size, 1);
      const held = rows.filter(({ source }) => source === 'held').length;
      for (const { first_entry: first, last_entry: last } of losses) assert.ok(last >= first);
      t.diagnostic(`${held} requests charged as held; ${JSON.stringify(losses)}`);
      // More are, if a gateway was silent for so long that the other took it for dead.
      assert.ok(losses.reduce((sum, { requests_held: requests }) => sum + requests, 0) <= held);
      const audit = await place.run(['audit']);
      assert.deepEqual(
        [audit.status, audit.stderr.split('the database has lost entries').length],
        [1, losses.length + 1],
      );
      assert.equal((await place.run(['audit', '--accept-losses'])).status, 0);
      assert.equal((await place.run(['audit'])).status, 0);
      assert.deepEqual(await cluster.faults(), []);
    });
  });
}

interface LossJson {
  readonly node: string;
  readonly first_entry: number;
  readonly last_entry: number;
  readonly requests_held: number;
}

function isServed(end: Sent['end']): boolean {
  return end.kind === 'answered' && end.status === 200;
}
