/** What a million end users of one key and a thousand groups change, compared with ten and two. */
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { utcDay } from '../../src/core/clock.ts';
import { userId } from '../../src/state/levels.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase, type Sqlite } from '../../src/state/sqlite/database.ts';
import { median } from '../../test/support/statistics.ts';
import type { Measured } from '../children.ts';
import type { Load } from '../helpers.ts';
import type { Access } from '../start-server.ts';
import type { GatewayServer } from '../targets.ts';
import { userName } from '../users.ts';

export interface Crowd {
  readonly users: number;
  readonly groups: number;
}

/** A gateway on a file with a crowd: a key alone, and one in two groups whose requests name their end users. */
export interface CrowdedServer {
  readonly crowd: Crowd;
  readonly server: GatewayServer;
  readonly app: Access;
  /** What each user has added to the file. */
  readonly bytesPerUser: number;
}

const OUT_OF_REACH = ['--rpm', '1000000000', '--tpm', '1000000000000', '--concurrency', '100000'];
const ALONE = 'CPU a request of a key alone, µs';
const NAMED = 'CPU a request of a user in two groups, µs';
const CONNECTIONS = 64;
const LOAD_MS = 2_000;
const ROUNDS = 9;
const STARTS = 5;
/** Longer than windows last, and than the ledger takes to forget what has left them. */
const IDLE_MS = 75_000;

/** Fills the file of a gateway that does not run. */
export function gather(server: GatewayServer, path: string, crowd: Crowd): CrowdedServer {
  const limits = ['--user-budget', 'day=1000000', '--user-rpm', '1000000'];
  server.run('groups', 'create', 'outer', '--budget', 'day=1000000');
  server.run('groups', 'create', 'inner', '--in', '@outer', '--rpm', '1000000000');
  const made = server.run('keys', 'create', 'app', '--in', '@inner', ...limits, ...OUT_OF_REACH, '--json');
  const { id, key } = JSON.parse(made) as { id: string; key: string };
  const { database } = openDatabase(path);
  try {
    database.pragma('synchronous = OFF');
    const { groups } = bookOf(database);
    for (let number = 2; number < crowd.groups; number++) groups.create({ name: `group-${number}` }, Date.now());
    const before = sizeOf(database);
    writeUsers(database, id, crowd.users);
    // What the disk has not got yet would keep the gateway waiting while it is measured.
    database.pragma('synchronous = FULL');
    const bytesPerUser = (sizeOf(database) - before) / crowd.users;
    const { port, headers } = server;
    return { crowd, server, app: { port, key, headers }, bytesPerUser };
  } finally {
    database.close();
  }
}

/** Each was there today, once. */
function writeUsers(database: Sqlite, keyId: string, users: number): void {
  const figures = 'requests, errors, prompt_tokens, cached_tokens, cache_write_tokens, completion_tokens, cost_nanos';
  const addDay = database.prepare(
    `INSERT INTO level_days (level_id, day, ${figures})
     VALUES (?, ?, 1, 0, 2000, 500, 0, 500, 600000)`,
  );
  const now = Date.now();
  database.transaction(() => {
    for (let user = 0; user < users; user++) {
      addDay.run(userId(keyId, userName(user)), utcDay(now));
    }
  })();
}

function sizeOf(database: Sqlite): number {
  database.pragma('wal_checkpoint(TRUNCATE)');
  return statSync(database.name).size;
}

/** The figures of each of these, by label. They run beside each other, and are loaded in turn. */
export async function measureCrowds(servers: readonly CrowdedServer[], load: Load): Promise<Map<string, number>[]> {
  const columns: Map<string, number>[] = [];
  for (const { server, bytesPerUser } of servers) {
    const figures = new Map([['state file, bytes an end user', bytesPerUser]]);
    figures.set('start to first 200, ms', await medianStart(server));
    columns.push(figures);
  }
  const running: (CrowdedServer & { readonly process: Measured })[] = [];
  for (const each of servers) running.push({ ...each, process: (await each.server.start()).process });
  const cells = running.flatMap((each, column) => [
    { ...each, column, label: ALONE, users: undefined },
    { ...each, column, label: NAMED, users: each.crowd.users },
  ]);
  const costs = await inTurn(cells, ({ process, server, app, users }) =>
    cost(load, process, users === undefined ? server : app, users),
  );
  for (const [index, { column, label }] of cells.entries()) columns[column]?.set(label, median(costs[index] ?? []));
  const [fewAlone, fewNamed, manyAlone, manyNamed] = costs;
  columns[0]?.set(`${NAMED}: of a key alone, %`, percentOf(fewNamed, fewAlone));
  columns[1]?.set(`${NAMED}: of a key alone, %`, percentOf(manyNamed, manyAlone));
  columns[1]?.set(`${ALONE}: of the other, %`, percentOf(manyAlone, fewAlone));
  columns[1]?.set(`${NAMED}: of the other, %`, percentOf(manyNamed, fewNamed));
  const memory = async (label: string) => {
    for (const [index, { process }] of running.entries()) {
      columns[index]?.set(label, (await process.usageAfterGc()).rssBytes / 1e6);
    }
  };
  await memory('memory after it, MB');
  await pause(IDLE_MS);
  // Whatever comes then has what is idle forgotten.
  await inTurn(running, ({ server, process }) => cost(load, process, server));
  await memory('memory when they have been idle for a minute, MB');
  for (const { process } of running) await process.stop();
  return columns;
}

/** The median of the pairs that were taken in the same round. */
function percentOf(some: readonly number[] = [], others: readonly number[] = []): number {
  return 100 * median(some.map((each, round) => each / (others[round] ?? Number.NaN)));
}

async function medianStart(server: GatewayServer): Promise<number> {
  const starts: number[] = [];
  for (let count = 0; count < STARTS; count++) {
    const { process, startUpMs } = await server.start();
    starts.push(startUpMs);
    await process.stop();
  }
  return median(starts);
}

/** The results of each round, by place. The first round warms up. */
async function inTurn<T>(all: readonly T[], measure: (each: T) => Promise<number>): Promise<number[][]> {
  const results: number[][] = all.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, each] of all.entries()) {
      const result = await measure(each);
      if (round > 0) results[index]?.push(result);
    }
  }
  return results;
}

/** The CPU time of a request, in microseconds. */
async function cost(load: Load, process: Measured, { port, key, headers }: Access, users?: number): Promise<number> {
  const before = await process.usage();
  const arrivals = { kind: 'closed', connections: CONNECTIONS } as const;
  const spec = { port, key, headers, stream: false, ...(users === undefined ? {} : { users }) };
  const { answers } = await load.run({ ...spec, arrivals, length: { milliseconds: LOAD_MS } });
  return ((await process.usage()).cpuMicroseconds - before.cpuMicroseconds) / answers;
}
