/** A database that is restored from `pg_dump`: gateways go on by what it has then, and by nothing that they remember. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { mintKey } from '../../src/core/api-key.ts';
import { FUNCTIONS, MIGRATIONS } from '../../src/state/postgres/schema.ts';
import { costNanos, INPUT_TOKENS } from '../races/allowance.ts';
import { RaceClient } from '../races/client.ts';
import { completion } from '../support/answers.ts';
import { chat } from '../support/gateway.ts';
import { GATEWAY_USER } from '../support/postgres-files.ts';
import { rawCompletion } from '../support/raw.ts';
import { RunScope } from '../support/run-scope.ts';
import type { TestKey } from '../support/state.ts';
import { until } from '../support/wait.ts';
import { Cluster, type Node } from './cluster.ts';

const OUTPUT_TOKENS = 7;
const USAGE = {
  prompt_tokens: INPUT_TOKENS,
  completion_tokens: OUTPUT_TOKENS,
  total_tokens: INPUT_TOKENS + OUTPUT_TOKENS,
};

const scope = new RunScope();
let cluster: Cluster;
/** What requests of these names wait for at the host. */
let gates: Readonly<Record<'short' | 'long', PromiseWithResolvers<void>>>;
before(async () => {
  cluster = await Cluster.open(scope, 2);
  cluster.upstream.follow(async (call) => {
    const { user } = JSON.parse(call.body) as { user: string };
    if (user === 'short' || user === 'long') await gates[user].promise;
    call.answer(200, completion('hi', { usage: USAGE }));
  });
});
after(() => scope.end());

const TABLES = `SELECT relname FROM pg_class WHERE relnamespace = 'inf_gw'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`;

/** All rows as of one moment, as `pg_dump` has them. */
async function dump(): Promise<void> {
  await cluster.query(`BEGIN ISOLATION LEVEL REPEATABLE READ; DROP SCHEMA IF EXISTS dump CASCADE; CREATE SCHEMA dump;
    DO $$ DECLARE t text; BEGIN
      FOR t IN ${TABLES} LOOP EXECUTE format('CREATE TABLE dump.%I AS SELECT * FROM inf_gw.%I', t, t); END LOOP;
    END $$; COMMIT`);
}

/** What `pg_restore --clean --single-transaction` does: everything is dropped, made anew and filled, in one transaction. */
async function restore(): Promise<void> {
  // Gateways take the account's lock first. Without it, the two may wait for each other, and the server ends either.
  await cluster.query(`BEGIN; LOCK TABLE inf_gw.account; DROP SCHEMA inf_gw CASCADE; SET ROLE ${GATEWAY_USER}; CREATE SCHEMA inf_gw;
    CREATE TABLE inf_gw.migrations (version int PRIMARY KEY, applied_at timestamptz NOT NULL); ${[...MIGRATIONS, FUNCTIONS].join(';')}; RESET ROLE;
    DO $$ DECLARE t text; BEGIN
      FOR t IN ${TABLES} LOOP
        EXECUTE format('DELETE FROM inf_gw.%I', t);
        EXECUTE format('INSERT INTO inf_gw.%I OVERRIDING SYSTEM VALUE SELECT * FROM dump.%I', t, t);
      END LOOP;
      PERFORM setval('inf_gw.journal_ids', 1000000), setval(pg_get_serial_sequence('inf_gw.nodes', 'id'), 1000);
    END $$; COMMIT`);
}

/** Returns the status, or undefined if the gateway dies meanwhile. */
async function ask(node: Node, key: TestKey, user = 'quick'): Promise<number | undefined> {
  const client = await RaceClient.open(node.port);
  const request = rawCompletion(key, chat({ user, max_tokens: 2 * OUTPUT_TOKENS }));
  const status = await client.send(request).then(
    (answer) => answer.status,
    () => undefined,
  );
  client.leave();
  return status;
}

async function sources(key: TestKey): Promise<string[]> {
  return (await cluster.rows([key])).map(({ source, costNanos: cost }) => `${source} ${cost}`).toSorted();
}

const [REPORTED, HELD] = [`reported ${costNanos(OUTPUT_TOKENS)}`, `held ${costNanos(2 * OUTPUT_TOKENS)}`];

describe('a database that is restored to an earlier point', () => {
  for (const areAlive of [true, false]) {
    const what = areAlive
      ? 'while gateways live: they say so and go on by what is there; what is in flight ends and is charged, and what has ended since is, as held'
      : 'while no gateway lives: what was in flight is charged as held, and what has come since is gone';
    test(what, async () => {
      gates = { short: Promise.withResolvers(), long: Promise.withResolvers() };
      const nodes = cluster.nodes as [Node, Node];
      const [old] = (await cluster.newKeys([{}])) as [TestKey];
      const [short, long] = [ask(nodes[0], old, 'short'), ask(nodes[0], old, 'long')];
      for (const node of nodes) assert.equal(await ask(node, old), 200);
      await until(async () => (await cluster.holds()) === 2);
      await dump();
      gates.short.resolve();
      assert.equal(await short, 200);
      const [young] = (await cluster.newKeys([{}])) as [TestKey];
      const late = [ask(nodes[1], old, 'long'), ask(nodes[1], young, 'long')];
      await until(async () => (await cluster.holds()) === 3);
      for (const node of nodes) for (const key of [old, young]) assert.equal(await ask(node, key), 200);
      if (!areAlive) for (const node of nodes) await node.kill();
      await restore();
      if (!areAlive) for (const node of nodes) await node.start();
      for (const node of nodes) await until(async () => (await ask(node, old)) === 200);
      for (const node of nodes) await until(async () => (await ask(node, young)) === 401);
      gates.long.resolve();
      const statuses = await Promise.all([long, ...late]);
      await cluster.settled();
      // Of before the copy, what it had in flight, what came since, and of after it.
      const [served, open, since] = [
        [REPORTED, REPORTED],
        areAlive ? [HELD, REPORTED] : [HELD, HELD],
        areAlive ? [REPORTED] : [],
      ];
      const rows = await sources(old);
      // Of requests that were refused while a gateway began anew nothing is charged.
      assert.deepEqual(
        rows.filter((row) => !row.endsWith(' 0')),
        [...served, ...open, ...since, ...served].toSorted(),
      );
      assert.deepEqual(await sources(young), []);
      const faults = await cluster.faults();
      const own = faults.filter((fault) => /as node-1 found at .* it charges 1 request as held/.test(fault));
      assert.equal(own.length, areAlive ? 1 : 0);
      assert.deepEqual(
        faults.filter((fault) => !fault.startsWith('the database has lost')),
        [],
      );
      if (!areAlive) return;
      await cluster.operate(async ({ nodes: gateways }) => gateways?.acceptLosses());
      assert.deepEqual(statuses, [200, 200, 200]);
      await nodes[0].serving.logged(/the database has lost entry \d+ .* charges 1 request as held/);
      await nodes[1].serving.logged(/the database has lost entry \d+ .* charges 0 requests as held/);
      await nodes[1].serving.logged(/is charged to nobody: its key is not in the database any more/);
    });
  }

  test('whose functions and tables are gone meanwhile: gateways say so, and go on once they are back', async () => {
    const nodes = cluster.nodes as [Node, Node];
    const [key] = (await cluster.newKeys([{}])) as [TestKey];
    for (const node of nodes) assert.equal(await ask(node, key), 200);
    await dump();
    await cluster.query('DROP FUNCTION inf_gw.beat, inf_gw.append; ALTER TABLE inf_gw.keys RENAME TO gone');
    for (const node of nodes) {
      for (const asker of [key, { id: '', secret: mintKey() }]) assert.equal(await ask(node, asker), 500);
      await node.serving.logged(/it lacks a (?:function|table) of inf-gw/);
    }
    // A sign of life, which nobody waits for, is due once a second.
    await pause(1_500);
    await restore();
    for (const node of nodes) await until(async () => (await ask(node, key)) === 200);
  });
});
