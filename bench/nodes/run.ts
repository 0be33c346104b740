/**
 * What several gateways on one PostgreSQL decide in a second, how long an admission takes, and what it costs; and what a
 * gateway takes to start where many keys are in use (`--start`). Only their ledgers run: no HTTP. `npm run bench:nodes`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { parsePostgresAddress } from '../../src/core/postgres-address.ts';
import { connect } from '../../src/state/postgres/connect.ts';
import { migrate } from '../../src/state/postgres/migrations.ts';
import { PostgresServer } from '../../test/support/postgres.ts';
import { percentilesOf } from '../../test/support/statistics.ts';
import type { Arrivals, NodeOrder, NodeReport, StartReport } from './messages.ts';

const NODE = fileURLToPath(new URL('./node.ts', import.meta.url));
const START = fileURLToPath(new URL('./start.ts', import.meta.url));
/** A tick of the CPU times in /proc. */
const TICK_MICROSECONDS = 10_000;
/** In use when a gateway starts, each with a request of the last minute. */
const KEYS_AT_START = 100_000;
const CREDIT_NANOS = 1_000_000_000_000_000n;

interface Scenario {
  readonly what: string;
  readonly nodes: number;
  readonly keys: number;
  /** Where keys are in two groups, and requests name one of so many end users. */
  readonly users?: number;
  readonly arrivals: Arrivals;
  /** What each flush takes longer: a synchronous standby, say. */
  readonly flushMs?: number;
}

/** Rows of the past half year, some 300 to a minute. */
const OLD_ROWS_APART_US = 200_000;
const STARTED_WITHIN_US = 30_000_000;

const closed = (inFlight: number): Arrivals => ({ kind: 'closed', inFlight });

const SCENARIOS: readonly Scenario[] = [
  ...[1, 2, 4].map((nodes) => ({ what: '1,000 keys, 64 in flight each', nodes, keys: 1_000, arrivals: closed(64) })),
  ...[1, 2].map((nodes) => ({
    what: 'the same in two groups, with 10 end users each',
    nodes,
    keys: 1_000,
    users: 10,
    arrivals: closed(64),
  })),
  ...[1, 2, 4].map((nodes) => ({ what: 'one hot key, 64 in flight each', nodes, keys: 1, arrivals: closed(64) })),
  ...[1, 2].map((nodes) => ({
    what: 'the same in two groups, with 100,000 end users',
    nodes,
    keys: 1,
    users: 100_000,
    arrivals: closed(64),
  })),
  ...[1, 2, 4].map((nodes) => ({
    what: '1,000 keys, each flush +10 ms',
    nodes,
    keys: 1_000,
    arrivals: closed(64),
    flushMs: 10,
  })),
  ...[1, 2, 4].map((nodes) => ({
    what: '500 requests/s in all',
    nodes,
    keys: 1_000,
    arrivals: { kind: 'open' as const, perSecond: 500 / nodes },
  })),
];

/** All keys in two groups, with a budget of the outer one and limits for each end user of a key. */
const LEVELS = `
  INSERT INTO inf_gw.groups (id, name, state, rpm, group_id, created_at_ms)
    VALUES ('grp_outer', 'outer', 'enabled', NULL, NULL, 0), ('grp_inner', 'inner', 'enabled', 1000000000, 'grp_outer', 0);
  UPDATE inf_gw.keys SET group_id = 'grp_inner';
  INSERT INTO inf_gw.users (owner_id, name, state, rpm, required) SELECT id, '', 'enabled', 1000000, 0 FROM inf_gw.keys;
  INSERT INTO inf_gw.budgets (key_id, period, limit_nanos) SELECT 'grp_outer', 'day', 1000000000000000
    UNION ALL SELECT id || '/', 'day', 1000000000000000 FROM inf_gw.keys`;

async function run(server: PostgresServer, scenario: Scenario, seconds: number, rows: number): Promise<string> {
  const url = await server.createDatabase();
  await prepare(url, scenario, rows, OLD_ROWS_APART_US);
  const nodes = await Promise.all(
    Array.from({ length: scenario.nodes }, (_, i) => startNode(i, url, scenario, seconds)),
  );
  const exits = nodes.map((node) => once(node, 'exit'));
  const before = serverCpu(server);
  const done = nodes.map(async (node) => {
    node.send('go');
    const [report] = (await once(node, 'message')) as [Extract<NodeReport, { kind: 'done' }>];
    return report;
  });
  const reports = await Promise.all(done);
  const databaseCpu = serverCpu(server) - before;
  for (const node of nodes) node.send('stop');
  await Promise.all(exits);
  const settled = reports.reduce((sum, report) => sum + report.settled, 0);
  const nodeCpu = reports.reduce((sum, { cpuMicroseconds }) => sum + cpuMicroseconds, 0);
  const { p50, p99 } = percentilesOf(reports.flatMap(({ admissionsMs }) => admissionsMs));
  const figures = [settled / seconds, p50, p99, databaseCpu / settled, nodeCpu / settled];
  return `| ${scenario.what} | ${scenario.nodes} | ${figures.map((figure) => figure.toPrecision(3)).join(' | ')} |`;
}

/**
 * Makes the tables, the keys and what is around them, credit for everything, and as many journal rows as are wanted, so many
 * microseconds apart.
 */
async function prepare(
  url: string,
  { keys, users }: Pick<Scenario, 'keys' | 'users'>,
  rows: number,
  apartUs: number,
): Promise<void> {
  const parsed = parsePostgresAddress(url, '/');
  if (parsed.kind === 'problem') throw new Error(parsed.problem);
  const client = await connect(parsed.address, 'bench');
  await migrate(client);
  await client.query(
    `INSERT INTO inf_gw.keys (id, name, hash, preview, state, created_at_ms)
     SELECT 'key_' || n, 'app ' || n, 'hash-' || n, 'sk-inf-…', 'enabled', 0 FROM generate_series(0, $1 - 1) AS n`,
    [keys],
  );
  if (users !== undefined) await client.query(LEVELS);
  await client.query('UPDATE inf_gw.account SET balance_nanos = $1', [CREDIT_NANOS]);
  await client.query(
    `INSERT INTO inf_gw.journal (id, request_id, key_id, model, admitted_at_ms, settled_at_ms, outcome, source, prompt_tokens,
       cached_tokens, completion_tokens, cost_nanos, cache_write_tokens, hold_nanos, node_id)
     SELECT nextval('inf_gw.journal_ids'), 'old-' || n, 'key_' || n % $2, 'bench/model', at, at + 900, 'ok', 'reported', 10, 0,
       20, 70, 0, 70, 1
     FROM (SELECT n, (inf_gw.now_us() - n * $3::bigint) / 1000 AS at FROM generate_series(1, $1) AS n) AS old`,
    [rows, keys, apartUs],
  );
  await client.query(
    `INSERT INTO inf_gw.usage_months (month, key_id, model, source, requests, errors, prompt_tokens, cached_tokens,
       cache_write_tokens, completion_tokens, cost_nanos, last_at_ms)
     SELECT inf_gw.utc_month(admitted_at_ms * 1000) AS month, key_id, model, source, count(*), 0, sum(prompt_tokens), 0, 0,
       sum(completion_tokens), sum(cost_nanos), max(admitted_at_ms)
     FROM inf_gw.journal GROUP BY month, key_id, model, source`,
  );
  await client.query('ANALYZE');
  await client.end();
}

async function startNode(index: number, url: string, scenario: Scenario, seconds: number): Promise<ChildProcess> {
  const child = fork(NODE, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { keys, users, arrivals } = scenario;
  const order: NodeOrder = { url, name: `node-${index + 1}`, keys, users, arrivals, seconds };
  child.send(order);
  await once(child, 'message');
  return child;
}

/** What a gateway takes to start. */
async function start(server: PostgresServer): Promise<string> {
  const url = await server.createDatabase();
  await prepare(url, { keys: KEYS_AT_START }, KEYS_AT_START, STARTED_WITHIN_US / KEYS_AT_START);
  const child = fork(START, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: ['--expose-gc'] });
  child.send(url);
  const [{ startMs, heapBytes }] = (await once(child, 'message')) as [StartReport];
  await once(child, 'exit');
  const [seconds, megabytes] = [startMs / 1_000, heapBytes / 1_000_000];
  return `start with ${KEYS_AT_START} keys in use: ${seconds.toPrecision(2)} s, ${megabytes.toPrecision(3)} MB of heap`;
}

/** The CPU time of all processes of the server, in microseconds. */
function serverCpu(server: PostgresServer): number {
  const main = readFileSync(`${server.folder}/data/postmaster.pid`, 'utf8').split('\n')[0];
  let ticks = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      if (pid === main || fields[1] === main) ticks += Number(fields[11]) + Number(fields[12]);
    } catch {
      // It has ended meanwhile.
    }
  }
  return ticks * TICK_MICROSECONDS;
}

async function measureLoads(seconds: number, rows: number, only: string): Promise<void> {
  console.log('| load | gateways | requests/s | p50, ms | p99, ms | CPU of the database, µs | of a gateway, µs |');
  console.log('|---|---:|---:|---:|---:|---:|---:|');
  const chosen = SCENARIOS.filter(({ what }) => what.includes(only));
  for (const flushMs of new Set(chosen.map((scenario) => scenario.flushMs))) {
    const server = await startServer(flushMs);
    try {
      for (const scenario of chosen.filter((other) => other.flushMs === flushMs)) {
        console.log(await run(server, scenario, seconds, rows));
      }
    } finally {
      await server.stop();
    }
  }
}

async function measureStart(): Promise<void> {
  const server = await startServer(undefined);
  try {
    console.log(await start(server));
  } finally {
    await server.stop();
  }
}

function startServer(flushMs: number | undefined): Promise<PostgresServer> {
  const slow = { commit_delay: String((flushMs ?? 0) * 1_000), commit_siblings: '0' };
  return PostgresServer.start({
    settings: { fsync: 'on', shared_buffers: '256MB', ...(flushMs !== undefined && slow) },
  });
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rows: { type: 'string', default: '0' },
    only: { type: 'string', default: '' },
    start: { type: 'boolean', default: false },
  },
});
await (values.start ? measureStart() : measureLoads(Number(values.seconds), Number(values.rows), values.only));
