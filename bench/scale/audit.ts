/** How long `audit` takes with many end users, who were all there once, on both stores. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashKey, mintKey } from '../../src/core/api-key.ts';
import { LocalEngine } from '../../src/ledger/local/local-engine.ts';
import type { Command } from '../../src/ledger/protocol.ts';
import { NO_USER_LIMITS } from '../../src/state/levels.ts';
import { bookOf } from '../../src/state/sqlite/book.ts';
import { openDatabase } from '../../src/state/sqlite/database.ts';
import { LedgerStore } from '../../src/state/sqlite/ledger-store.ts';
import { PostgresServer } from '../../test/support/postgres.ts';
import { DEFAULTS, HandClock, USD } from '../../test/unit/ledger/bench.ts';
import { userName } from '../users.ts';
import type { Progress } from './large-state.ts';

const BATCH = 500;
const OUT_OF_REACH = { rpm: 1_000_000_000, tpm: 1_000_000_000_000, concurrency: 1_000_000, spendLimitNanos: null };
/** A calendar day, which counts by the day, and a sliding one, which has sums of its own. */
const BUDGETS = ['day', '24h'].map((period) => ({ period, limitNanos: 1_000n * USD }));
const USER_LIMITS = { ...NO_USER_LIMITS, budgets: BUDGETS };
const END = { outcome: 'ok', source: 'reported', completionId: undefined, firstByteMs: undefined } as const;
const USAGE = { promptTokens: 2_000, cachedTokens: 0, completionTokens: 500 };
const COST_NANOS = 600_000n;

/** Makes a state file by the ledger itself: one key in a group, with limits of end users on both, and a request of each. */
async function makeUsers(path: string, users: number, onProgress: Progress): Promise<void> {
  const { database, created } = openDatabase(path, 'crash');
  database.pragma('synchronous = OFF');
  const clock = new HandClock();
  const { account, groups, keys } = bookOf(database);
  account.enter(1_000_000n * USD, 'to start with', clock.wallMs());
  const group = groups.create({ name: 'apps', userLimits: USER_LIMITS }, clock.wallMs());
  if (group.kind !== 'done') throw new Error(group.kind);
  const secret = mintKey();
  const key = { name: 'app', allowlist: null, groupId: group.group.id, userLimits: USER_LIMITS, ...OUT_OF_REACH };
  keys.create(secret, key, clock.wallMs());
  const engine = new LocalEngine(new LedgerStore(database, created), DEFAULTS, clock);
  engine.recover();
  const keyHash = hashKey(secret);
  const tokens = { reservedTokens: 2_500, inputTokens: 2_000, outputTokens: 500, holdNanos: COST_NANOS };
  for (let from = 0; from < users; from += BATCH) {
    onProgress('end users', from, users);
    const batch = Array.from({ length: Math.min(BATCH, users - from) }, (_, at) => {
      const user = userName(from + at);
      return { requestId: `req_${user}`, user };
    });
    await engine.process(
      batch.map((each): Command => ({ kind: 'admit', request: { ...each, keyHash, model: 'mock/echo', ...tokens } })),
    );
    await engine.process(
      batch.map(({ requestId, user }): Command => {
        const spentBy = { user, tag: '', app: 'curl' };
        return { kind: 'settle', settlement: { ...END, requestId, usage: USAGE, costNanos: COST_NANOS, spentBy } };
      }),
    );
    clock.advance(20);
  }
  database.close();
}

/** Runs a command of the program to its end. Returns its duration in seconds. */
function run(checkout: string, config: string, ...args: readonly string[]): number {
  const startedAt = performance.now();
  const command = [join(checkout, 'bin/inf-gw.js'), ...args, '-c', config];
  const { status, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', maxBuffer: MOST_OUTPUT_BYTES });
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - startedAt) / 1_000;
}

const MOST_OUTPUT_BYTES = 64 * 1024 ** 2;

/** Prints the duration on each store. */
export async function measureAudits(
  folder: string,
  checkout: string,
  users: number,
  onProgress: Progress,
): Promise<void> {
  await makeUsers(join(folder, 'users.db'), users, onProgress);
  const config = join(folder, 'users.yaml');
  writeFileSync(config, JSON.stringify({ state: './users.db' }));
  const onFile = run(checkout, config, 'audit');
  const server = await PostgresServer.start();
  try {
    const url = await server.createDatabase();
    run(checkout, config, 'state', 'migrate', '--to', url);
    const shared = join(folder, 'shared.yaml');
    writeFileSync(shared, JSON.stringify({ state: url }));
    const onPostgres = run(checkout, shared, 'audit');
    console.log(`| \`audit\`, s | on a file | on PostgreSQL |\n|---|---:|---:|`);
    console.log(`| ${users.toLocaleString('en')} end users | ${onFile.toFixed(0)} | ${onPostgres.toFixed(0)} |`);
  } finally {
    await server.stop();
  }
}
